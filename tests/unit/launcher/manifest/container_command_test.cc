#include "launcher/manifest/container_command.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

Result<RawFlags> read(const Words& words, const Variables& variables = {}) {
  const Replica replica{.name = "w", .path = "c[0]", .words = words, .environment = variables};
  return read_container_command({}, replica, "2");
}

// "x.py a; --nnodes 4 (torchrun)", or the error.
std::string said(const Words& words, const Variables& variables = {}) {
  const auto raw = read(words, variables);
  if (!raw) return raw.error().text;
  std::string text = raw->program.value_or("none");
  for (const std::string& word : raw->arguments) text += " " + word;
  for (const auto& [flag, value] : raw->given)
    if (value.kind != SourceKind::kContract)
      text += "; " + long_name(row_of(flag)) + " " + value.text + " (" + value.source + ")";
  return text;
}

TEST(ContainerCommand, MusterIsTakenOverAsTorchrunIs) {
  EXPECT_EQ(said({"muster", "run", "--", "x.py", "a"}), "x.py a");
  EXPECT_EQ(said({"/opt/muster", "run", "--max-restarts", "3", "x.py"}),
            "x.py; --max-restarts 3 (muster run)");
  EXPECT_EQ(said({"torchrun", "--nnodes=4", "x.py"}), "x.py; --nnodes 4 (torchrun)");
  EXPECT_EQ(said({"muster", "run", "--tee=3", "torchrun", "--nnodes=$NUM_NODES", "x.py"}),
            "x.py; --nnodes 2 (torchrun); --tee 3 (muster run)");
  EXPECT_EQ(said({"muster", "run", "--", "muster", "run", "x.py"}), "x.py");
  EXPECT_EQ(said({"muster", "doctor"}), "muster doctor");
  EXPECT_EQ(said({"python", "x.py"}), "python x.py");
  EXPECT_EQ(said({}), "none");
}

TEST(ContainerCommand, ItsVariablesAreFlagsIfItHasALauncher) {
  const Variables variables = {{"MUSTER_NNODES", "3"}, {"PET_MAX_RESTARTS", "1"}};
  EXPECT_EQ(said({"muster", "run", "x.py"}, variables),
            "x.py; --max-restarts 1 (PET_MAX_RESTARTS); --nnodes 3 (MUSTER_NNODES)");
  EXPECT_EQ(said({"torchrun", "--nnodes=4", "x.py"}, variables),
            "x.py; --max-restarts 1 (PET_MAX_RESTARTS); --nnodes 4 (torchrun)");
  EXPECT_EQ(said({"python", "x.py"}, variables), "python x.py");
}

TEST(ContainerCommand, ArgumentsWithoutACommandFollowTheMusterOfTheImage) {
  const auto given = [](const Words& words) {
    const Replica replica{.name = "w",
                          .path = "c[0]",
                          .words = words,
                          .has_command = false,
                          .environment = {{"MUSTER_MAX_RESTARTS", "3"}}};
    const auto raw = read_container_command({}, replica, "2");
    const GivenValue* const restarts = raw->find(flag::kMaxRestarts);
    return raw->program.value_or("none") + " " + (restarts == nullptr ? "" : restarts->text);
  };
  EXPECT_EQ(given({"x.py", "a"}), "x.py 3");
  EXPECT_EQ(given({"torchrun", "x.py"}), "x.py 3");
  EXPECT_EQ(given({}), "none ");
}

TEST(ContainerCommand, ADollarIsThePodsProgramsAsInThePod) {
  EXPECT_EQ(said({"sh", "-c", "echo $RANK $MASTER_ADDR"}), "sh -c echo $$RANK $MASTER_ADDR");
  EXPECT_EQ(said({"torchrun", "x.py", "$$A"}), "x.py $$A");
  EXPECT_EQ(said({"muster", "run", "--", "x", "$A"}), "x $A");
  EXPECT_TRUE(read({"x", "${MASTER_ADDR}"})->manifest.names_address);
}

TEST(ContainerCommand, ADollarOfAWordThatMusterAddsIsItsOwn) {
  EXPECT_EQ(said({"deepspeed", "x.py", "$A"}), "x.py --local_rank=${local_rank} $$A");
  EXPECT_EQ(said({"muster", "run", "--", "deepspeed", "x.py", "$A"}),
            "x.py --local_rank=${local_rank} $A");
}

TEST(ContainerCommand, AnMpisLauncherRunsWithItsWords) {
  EXPECT_EQ(
      said({"muster", "run", "mpirun", "--hostfile", "/etc/mpi/hostfile", "-np", "4", "x", "$A"}),
      "mpirun -np 4 x $A");
  EXPECT_EQ(said({"muster", "run", "--framework", "mpi", "--", "horovodrun", "-np", "4", "x"}),
            "horovodrun -np 4 x; --framework mpi (muster run)");
  EXPECT_TRUE(said({"horovodrun", "-np", "4", "x"}).starts_with("x; --framework horovod"));
}

TEST(ContainerCommand, WorkersOfAllNodesAreSharedOut) {
  EXPECT_EQ(read({"horovodrun", "-np", "4", "x"})->find(flag::kNprocPerNode)->text, "2");
  EXPECT_EQ(said({"horovodrun", "-np", "3", "x"}),
            "c[0]: horovodrun is to start 3 workers, which is not so many on each of --nnodes 2");
  EXPECT_EQ(said({"muster", "run", "--nosuch", "x"}),
            "c[0]: in the arguments of muster run: unknown flag '--nosuch'");
}

}  // namespace
}  // namespace muster::launcher
