#include "nccl/checks/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/support/checked_machine.h"

namespace muster::nccl {
namespace {

using testing::CheckedMachine;

std::vector<std::string> all_trees() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(MUSTER_TEST_DATA "/machines/fabric")) {
    if (entry.path().extension() == ".tree") names.push_back(entry.path().stem());
  }
  std::ranges::sort(names);
  return names;
}

// Their faults stand in tests/data/machines/README.md; the last two lack a file and a line.
const std::map<std::string, std::set<std::string>>& known_faults() {
  static const std::map<std::string, std::set<std::string>> faults = {
      {"roce-no-network-pod", {"error gid_missing"}},
      {"gb200-no-imex", {"error imex"}},
      {"azure-ndv4-host", {"warning numa_unknown"}},
      {"laptop-wifi", {"warning dns_self"}},
  };
  return faults;
}

std::map<std::string_view, Severity> gravest_by_id() {
  std::map<std::string_view, Severity> most;
  for (const CheckRow& row : check_catalogue()) most[row.id] = row.most;
  return most;
}

// Every finding of every machine stands in the catalogue and is no graver than it says.
TEST(Catalogue, HealthyMachinesAreSilentAndTheOthersHaveTheirFault) {
  const auto trees = all_trees();
  const auto most = gravest_by_id();
  ASSERT_GE(trees.size(), 20U);
  for (const std::string& tree : trees) {
    std::set<std::string> problems;
    for (const Finding& finding : CheckedMachine(tree).findings()) {
      ASSERT_TRUE(most.contains(finding.id)) << finding.id;
      EXPECT_LE(finding.severity, most.at(finding.id)) << finding.id << " of " << tree;
      EXPECT_FALSE(finding.what.empty());
      if (finding.severity != Severity::kInfo)
        problems.insert(std::string(to_string(finding.severity)) + " " + finding.id);
    }
    const auto known = known_faults().find(tree);
    EXPECT_EQ(problems, known == known_faults().end() ? std::set<std::string>() : known->second)
        << tree;
  }
}

TEST(Catalogue, EachIdIsThereOnceAndExplained) {
  EXPECT_EQ(gravest_by_id().size(), check_catalogue().size());
  for (const CheckRow& row : check_catalogue())
    EXPECT_FALSE(row.subject.empty() || row.looks_at.empty()) << row.id;
}

TEST(Catalogue, WithoutOtherNodesTheirNetworkIsNoError) {
  CheckedMachine machine("roce-no-network-pod");
  EXPECT_EQ(machine.severity_of("gid_missing"), "error");
  machine.job.has_many_nodes = false;
  EXPECT_EQ(machine.severity_of("gid_missing"), "");
}

TEST(Catalogue, TheGravestComesFirst) {
  CheckedMachine machine("dgx-h100-host");
  machine.files.add_file("/sys/fs/cgroup/system.slice/training.service/memory.max", "1048576\n");
  machine.set_port("mlx5_0", "state", "1: DOWN");
  const auto findings = machine.findings();
  ASSERT_GE(findings.size(), 2U);
  EXPECT_EQ(findings.front().id, "port_state");
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::ranges::greater(), &Finding::severity));
}

}  // namespace
}  // namespace muster::nccl
