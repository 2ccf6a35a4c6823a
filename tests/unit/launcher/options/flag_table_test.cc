// The flag table against torchrun's recorded flags and against its own rules.
#include "launcher/options/flag_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "launcher/options/flag_search.h"
#include "launcher/options/options.h"

namespace muster::launcher {
namespace {

struct RecordedFlag {
  std::vector<std::string> names;
  bool is_switch = false;
  bool env = false;
};

std::vector<RecordedFlag> recorded_flags(const std::string& version) {
  std::ifstream file(std::string(MUSTER_TEST_DATA) + "/torchrun/flags-" + version + ".txt");
  std::vector<RecordedFlag> flags;
  for (std::string line; std::getline(file, line);) {
    RecordedFlag flag;
    std::istringstream words(line);
    for (std::string word; words >> word;) {
      if (word.starts_with('-')) flag.names.push_back(word);
      flag.is_switch = flag.is_switch || word == "switch";
      flag.env = flag.env || word == "env";
    }
    flags.push_back(flag);
  }
  return flags;
}

const FlagRow* find_written(const std::string& name) {
  return name.starts_with("--") ? find_flag(name.substr(2), Dialect::kTorchrun)
                                : find_letter(name[1], Dialect::kTorchrun);
}

class RecordedFlags : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Versions, RecordedFlags, ::testing::Values("1.13", "2.13"),
                         [](const auto& version) {
                           std::string name = version.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST_P(RecordedFlags, EveryNameOfTorchrunMeansOneRow) {
  const auto flags = recorded_flags(GetParam());
  ASSERT_GT(flags.size(), 20U);
  for (const RecordedFlag& flag : flags) {
    std::set<const FlagRow*> rows;
    for (const std::string& name : flag.names) rows.insert(find_written(name));
    EXPECT_EQ(rows.size(), 1U) << flag.names.front();
    ASSERT_NE(*rows.begin(), nullptr) << flag.names.front();
    EXPECT_EQ((*rows.begin())->origin, Origin::kTorchrun) << flag.names.front();
  }
}

TEST_P(RecordedFlags, KindsAndVariablesAreTorchruns) {
  for (const RecordedFlag& flag : recorded_flags(GetParam())) {
    const FlagRow* row = find_written(flag.names.front());
    ASSERT_NE(row, nullptr);
    if (row->kind == FlagKind::kRequest) continue;
    EXPECT_EQ(row->kind == FlagKind::kSwitch, flag.is_switch) << row->name;
    EXPECT_EQ(!torchrun_variable(*row).empty(), flag.env) << row->name;
  }
}

TEST(FlagTable, OnlyFlagsOfTorchrun214AreNewerThanTheRecordedOnes) {
  std::set<const FlagRow*> recorded;
  for (const RecordedFlag& flag : recorded_flags("2.13")) {
    recorded.insert(find_written(flag.names.front()));
  }
  std::vector<std::string_view> newer;
  for (const FlagRow& row : flag_table()) {
    if (row.origin == Origin::kTorchrun && !recorded.contains(&row)) newer.push_back(row.name);
  }
  EXPECT_EQ(newer, (std::vector<std::string_view>{"log-line-prefix-template", "print-completion"}));
}

TEST(FlagTable, EveryFlagHasExactlyOneRow) {
  std::set<std::string_view> names;
  for (const FlagRow& row : flag_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_EQ(&row_of(row.flag()), &row);
  }
  size_t rows = 0;
  for (const FlagGroup* group : flag_groups()) {
    EXPECT_FALSE(group->rows.empty()) << group->title;
    rows += group->rows.size();
  }
  EXPECT_EQ(names.size(), rows);
}

TEST(FlagTable, GroupsUnderOneHeadingAreTogether) {
  std::vector<std::string_view> titles;
  for (const FlagGroup* group : flag_groups()) {
    if (titles.empty() || titles.back() != group->title) titles.push_back(group->title);
    EXPECT_FALSE(group->title.empty());
  }
  EXPECT_EQ(std::set<std::string_view>(titles.begin(), titles.end()).size(), titles.size());
}

// The default of each flag is a value that its own parser takes: --explain prints it as if given.
TEST(FlagTable, EveryDefaultCanBeGiven) {
  for (const FlagRow& row : flag_table()) {
    for (const Dialect dialect : {Dialect::kMuster, Dialect::kTorchrun}) {
      const std::string_view value = default_text(row, dialect);
      if (value.empty() || row.into.fill == nullptr) continue;
      Options options;
      EXPECT_TRUE(row.into.fill(options, value)) << row.name << " " << value;
    }
  }
}

TEST(FlagTable, TheWordsOfAFlagAreValuesOfIt) {
  int flags = 0;
  for (const FlagRow& row : flag_table()) {
    if (row.into.words.empty() || row.into.fill == nullptr) continue;
    ++flags;
    Options options;
    for (const std::string_view word : row.into.words)
      EXPECT_TRUE(row.into.fill(options, word)) << row.name << " " << word;
    if (row.fallback.empty() || row.kind == FlagKind::kSwitch) continue;
    const bool listed = std::ranges::find(row.into.words, row.fallback) != row.into.words.end();
    EXPECT_TRUE(listed || row.name == "nproc-per-node") << row.name;
  }
  EXPECT_GT(flags, 8);
}

TEST(FlagTable, ValuesHaveAPlaceholderAndSwitchesHaveNoDefault) {
  for (const FlagRow& row : flag_table()) {
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_TRUE(row.kind != FlagKind::kValue || !row.placeholder.empty()) << row.name;
    EXPECT_TRUE(row.kind != FlagKind::kSwitch || row.fallback.empty()) << row.name;
  }
}

TEST(FlagTable, VariablesAreNamedAfterTheLongFlag) {
  const FlagRow& row = row_of(flag::kNprocPerNode);
  EXPECT_EQ(long_name(row), "--nproc-per-node");
  EXPECT_EQ(muster_variable(row), "MUSTER_NPROC_PER_NODE");
  EXPECT_EQ(torchrun_variable(row), "PET_NPROC_PER_NODE");
}

TEST(FlagTable, MustersFlagsAndRequestsHaveNoTorchrunVariable) {
  for (const FlagRow& row : flag_table()) {
    if (row.origin != Origin::kTorchrun || row.kind == FlagKind::kRequest) {
      EXPECT_EQ(torchrun_variable(row), "") << row.name;
    }
  }
  EXPECT_EQ(torchrun_variable(row_of(Flag("logs-specs"))), "");
  EXPECT_EQ(torchrun_variable(row_of(Flag("numa-binding"))), "");
  EXPECT_EQ(muster_variable(row_of(Flag("numa-binding"))), "MUSTER_NUMA_BINDING");
  EXPECT_EQ(muster_variable(row_of(flag::kHelp)), "");
}

TEST(FlagTable, DefaultsDifferWhereTheTwoProgramsDiffer) {
  EXPECT_EQ(default_text(row_of(flag::kRdzvBackend), Dialect::kMuster), "c10d");
  EXPECT_EQ(default_text(row_of(flag::kRdzvBackend), Dialect::kTorchrun), "static");
  EXPECT_EQ(default_text(row_of(flag::kRdzvBackend), Dialect::kLaunch), "static");
  EXPECT_EQ(default_text(row_of(Flag("log-level")), Dialect::kMuster), "info");
  EXPECT_EQ(default_text(row_of(Flag("log-level")), Dialect::kTorchrun), "warning");
  EXPECT_EQ(default_text(row_of(flag::kNnodes), Dialect::kTorchrun), "1:1");
}

struct Lookup {
  const char* name;
  const char* found;  // "" = none
};

TEST(FlagTable, UniquePrefixesInBothSpellingsAreFound) {
  const Lookup lookups[] = {
      {"nnodes", "nnodes"},
      {"nproc_per_node", "nproc-per-node"},
      {"nproc", "nproc-per-node"},
      {"nproc_per-node", "nproc-per-node"},
      {"stand", "standalone"},
      {"max-r", "max-restarts"},
      {"rdzv_e", "rdzv-endpoint"},
      {"role", "role"},
      {"t", "tee"},
      {"h", "help"},
      {"rdzv", ""},
      {"log", ""},
      {"m", ""},
      {"", ""},
      {"nnodesx", ""},
      {"use-env", ""},
  };
  for (const Lookup& lookup : lookups) {
    const FlagRow* row = find_flag(lookup.name, Dialect::kTorchrun);
    EXPECT_EQ(row == nullptr ? "" : row->name, lookup.found) << lookup.name;
  }
}

TEST(FlagTable, APrefixThatTorchrunKnowsIsNotTakenByMustersFlags) {
  EXPECT_EQ(find_flag("re", Dialect::kMuster), &row_of(flag::kRedirects));  // not restart-backoff
  EXPECT_EQ(find_flag("v", Dialect::kMuster), &row_of(Flag("virtual-local-rank")));  // not version
  EXPECT_EQ(find_flag("ex", Dialect::kMuster), &row_of(flag::kExplain));
  EXPECT_EQ(find_flag("grace", Dialect::kTorchrun), &row_of(flag::kGracePeriod));
}

TEST(FlagTable, UseEnvBelongsToTorchDistributedLaunchOnly) {
  EXPECT_EQ(find_flag("use_env", Dialect::kLaunch), &row_of(flag::kUseEnv));
  EXPECT_EQ(find_flag("use_env", Dialect::kMuster), nullptr);
  EXPECT_EQ(find_flag("use_env", Dialect::kTorchrun), nullptr);
}

TEST(FlagTable, LettersAreTorchruns) {
  EXPECT_EQ(find_letter('m', Dialect::kMuster), &row_of(flag::kModule));
  EXPECT_EQ(find_letter('r', Dialect::kMuster), &row_of(flag::kRedirects));
  EXPECT_EQ(find_letter('t', Dialect::kMuster), &row_of(flag::kTee));
  EXPECT_EQ(find_letter('h', Dialect::kMuster), &row_of(flag::kHelp));
  EXPECT_EQ(find_letter('x', Dialect::kMuster), nullptr);
  EXPECT_EQ(find_letter('\0', Dialect::kMuster), nullptr);
}

TEST(FlagTable, UnknownNamesAreExplainedInOneLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"nproc-per-nodes", "unknown flag '--nproc-per-nodes', did you mean '--nproc-per-node'?"},
      {"nprocs_per_node", "unknown flag '--nprocs_per_node', did you mean '--nproc-per-node'?"},
      {"max-restart-count", "unknown flag '--max-restart-count'"},
      {"gpus", "unknown flag '--gpus'"},
      {"rool", "unknown flag '--rool', did you mean '--role'?"},
      {"", "unknown flag '--'"},
      {"rdzv",
       "flag '--rdzv' is ambiguous: --rdzv-id, --rdzv-backend, --rdzv-endpoint, --rdzv-conf"},
      {"master_", "flag '--master_' is ambiguous: --master-addr, --master-port"},
  };
  for (const auto& [name, line] : cases) {
    EXPECT_EQ(explain_unknown(name, Dialect::kTorchrun), line);
  }
}

TEST(FlagTable, AVeryLongNameGetsNoSuggestion) {
  const std::string name(100'000, 'n');
  EXPECT_EQ(explain_unknown(name, Dialect::kMuster), "unknown flag '--" + name + "'");
}

}  // namespace
}  // namespace muster::launcher
