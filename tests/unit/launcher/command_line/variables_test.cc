// The table of environment variables.
#include "launcher/command_line/variables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "launcher/frameworks/pytorch.h"
#include "launcher/options/flag_table.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

bool is_listed(std::string_view name) {
  return std::ranges::any_of(variable_table(),
                             [name](const VariableRow& row) { return row.name == name; });
}

std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

std::string rows_of(bool user) {
  std::string text;
  for (const VariableRow& row : variable_table()) {
    if ((row.set_by == kSetByUser) != user) continue;
    text += "| " + code(row.name) + " | " + std::string(row.meaning) + " | ";
    if (!user) text += std::string(row.set_by) + " | ";
    text += std::string(row.read_by) + " |\n";
  }
  return text;
}

std::string page() {
  return "# Environment variables\n\n" + made_from("launcher/command_line/variables.cc") +
         "\n"
         "Each flag has a variable `MUSTER_<FLAG>`, and those of torchrun also have `PET_<FLAG>`: "
         "[flags](flags.md). This page lists all others.\n"
         "\n"
         "## Variables that you may set\n"
         "\n"
         "| Variable | Meaning | Read by |\n|---|---|---|\n" +
         rows_of(true) +
         "\n"
         "## Variables that Muster sets\n"
         "\n"
         "A worker has the environment of its pod and these. It has no variable that belongs to a "
         "rank of an outer launch, and none that begins with `MUSTER_JOB_SECRET`. A variable "
         "`MUSTER_...` that is neither a flag's nor on this page is worth a warning, with the name "
         "that was likely meant.\n"
         "\n"
         "| Variable | Meaning | Set by | Read by |\n|---|---|---|---|\n" +
         rows_of(false);
}

TEST(Variables, ThePageIsTheTable) { expect_page("environment.md", page()); }

TEST(Variables, EachIsListedOnceAndIsNoFlags) {
  std::set<std::string_view> names;
  for (const VariableRow& row : variable_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    for (const std::string_view text : {row.set_by, row.read_by, row.meaning})
      EXPECT_FALSE(text.empty()) << row.name;
  }
  for (const FlagRow& row : flag_table()) EXPECT_FALSE(is_listed(muster_variable(row))) << row.name;
}

TEST(Variables, WhatAWorkerOfPytorchGetsIsListed) {
  RoundFacts facts;
  facts.local_world_size = 2;
  facts.virtual_local_rank = true;
  const auto plan = pytorch_plan({}, facts);
  ASSERT_TRUE(plan);
  const auto decisions = plan->merge({}).decisions;
  EXPECT_GT(decisions.size(), 15U);
  for (const VariableDecision& decision : decisions)
    EXPECT_TRUE(is_listed(decision.name)) << decision.name;
}

}  // namespace
}  // namespace muster::launcher
