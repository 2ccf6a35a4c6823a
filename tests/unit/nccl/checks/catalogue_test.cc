#include "nccl/checks/catalogue.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/support/checked_machine.h"
#include "tests/support/pages.h"

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
  static const std::map<std::string, std::set<std::string>> kFaults = {
      {"roce-no-network-pod", {"error gid_missing"}},
      {"gb200-no-imex", {"error imex"}},
      {"azure-ndv4-host", {"warning numa_unknown"}},
      {"laptop-wifi", {"warning dns_self"}},
  };
  return kFaults;
}

TEST(Catalogue, HealthyMachinesAreSilentAndTheOthersHaveTheirFault) {
  const auto trees = all_trees();
  ASSERT_GE(trees.size(), 20U);
  for (const std::string& tree : trees) {
    const CheckedMachine machine(tree);
    std::set<std::string> problems;
    for (const Finding& finding : machine.findings()) {
      if (finding.severity != Severity::kInfo)
        problems.insert(std::string(to_string(finding.severity)) + " " + finding.id);
    }
    const auto known = known_faults().find(tree);
    EXPECT_EQ(problems, known == known_faults().end() ? std::set<std::string>() : known->second)
        << tree << "\n"
        << machine.problems();
  }
}

TEST(Catalogue, WhateverIsFoundStandsInItAndIsNoGraverThanItSays) {
  std::map<std::string_view, Severity> most;
  for (const CheckRow& row : check_catalogue()) {
    EXPECT_TRUE(most.emplace(row.id, row.most).second) << row.id << " is there twice";
    EXPECT_FALSE(row.subject.empty() || row.looks_at.empty()) << row.id;
  }
  for (const std::string& tree : all_trees()) {
    for (const Finding& finding : CheckedMachine(tree).findings()) {
      ASSERT_TRUE(most.contains(finding.id)) << finding.id;
      EXPECT_LE(finding.severity, most[finding.id]) << finding.id << " of " << tree;
      EXPECT_FALSE(finding.what.empty());
    }
  }
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

TEST(Catalogue, PageOfTheChecks) {
  std::string text = made_from("nccl/checks/catalogue.cc") +
                     "# The checks of `muster doctor`\n\n"
                     "Each looks at one node, without privileges, in well under a second. The "
                     "severity is the gravest that it\nmay have. How the verb is called: "
                     "[fabric-checks.md](../fabric-checks.md).\n\n"
                     "| Id | What is wrong | Looks at | At most |\n|---|---|---|---|\n";
  for (const CheckRow& row : check_catalogue()) {
    text += "| `" + std::string(row.id) + "` | " + std::string(row.subject) + " | " +
            std::string(row.looks_at) + " | " + std::string(to_string(row.most)) + " |\n";
  }
  expect_page("checks.md", text);
}

}  // namespace
}  // namespace muster::nccl
