#include "launcher/program/drivers.h"

#include <gtest/gtest.h>

#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

FrameworkNeeds needs_of(const Words& words, const Contract* contract = nullptr) {
  const Options options = muster(words);
  return make_driver(options, contract)->needs();
}

TEST(Drivers, PyTorchAndPlainCommandsAskForNothing) {
  const FrameworkNeeds needs = needs_of({});
  EXPECT_FALSE(needs.launcher);
  EXPECT_TRUE(needs.workers);
  EXPECT_FALSE(needs.roster);
  EXPECT_FALSE(needs.folder);
  EXPECT_EQ(needs.leads, Leads::kIfListed);
}

TEST(Drivers, OneMpirunStartsAll) {
  const FrameworkNeeds needs = needs_of({"--framework", "mpi"});
  EXPECT_TRUE(needs.launcher);
  EXPECT_TRUE(needs.workers);
  EXPECT_TRUE(needs.roster);
  EXPECT_TRUE(needs.folder);
}

TEST(Drivers, RanksOfAgentsAreWorkersAsAnyOther) {
  const FrameworkNeeds needs = needs_of({"--framework", "mpi", "--mpi-launch", "pmi"});
  EXPECT_FALSE(needs.launcher);
  EXPECT_FALSE(needs.roster);
}

TEST(Drivers, TheRoleSaysWhoLeadsAndWhoHasWorkers) {
  const FrameworkNeeds launcher =
      needs_of({"--framework", "mpi", "--mpi-role", "launcher", "--nnodes", "2"});
  EXPECT_EQ(launcher.leads, Leads::kAlone);
  EXPECT_FALSE(launcher.workers);
  const FrameworkNeeds worker = needs_of({"--framework", "mpi", "--mpi-role", "worker", "--nnodes",
                                          "2", "--rdzv-endpoint", "launcher:29400"});
  EXPECT_EQ(worker.leads, Leads::kNever);
  EXPECT_EQ(worker.leads_reason, "--mpi-role worker");
  EXPECT_TRUE(worker.workers);
}

TEST(Drivers, NodesThatRunCommandsForEachOtherMustKnowEachOther) {
  EXPECT_TRUE(needs_of({"--rsh", "--nnodes", "2", "--rdzv-endpoint", "a:1"}).roster);
  EXPECT_FALSE(needs_of({"--rsh"}).roster) << "there is no other node";
}

TEST(Drivers, AControllersLauncherSaysWhyWorkersMayBeMissing) {
  Contract contract;
  EXPECT_NE(needs_of({"--framework", "mpi", "--mpi-role", "launcher", "--nnodes", "2"}, &contract)
                .missing_hint,
            "");
}

}  // namespace
}  // namespace muster::launcher
