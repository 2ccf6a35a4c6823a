// Texts made from the flag table.
#include "launcher/options/flag_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "launcher/options/flag_search.h"
#include "tests/support/pages.h"

namespace muster::launcher {
namespace {

constexpr std::string_view kCommandLinePage = "../command-line.md";

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FlagText, HelpNamesEveryFlagOfItsDialect) {
  for (const Dialect dialect : {Dialect::kMuster, Dialect::kTorchrun, Dialect::kLaunch}) {
    const std::string help = help_text(dialect);
    for (const FlagRow& row : flag_table()) {
      EXPECT_EQ(contains(help, long_name(row) + " "), is_known(row, dialect)) << row.name;
    }
  }
}

TEST(FlagText, HelpBeginsWithTheUsageAndShowsTheDialectsDefaults) {
  EXPECT_TRUE(help_text(Dialect::kMuster).starts_with("usage: muster run [flags] [--] "));
  EXPECT_TRUE(help_text(Dialect::kTorchrun).starts_with("usage: torchrun [flags] SCRIPT"));
  const std::string line = "      --rdzv-backend NAME         static, c10d, etcd or etcd-v2 ";
  EXPECT_TRUE(contains(help_text(Dialect::kMuster), line + "(default c10d)\n"));
  EXPECT_TRUE(contains(help_text(Dialect::kTorchrun), line + "(default static)\n"));
}

TEST(FlagText, HelpAlignsItsColumnsAndNamesOtherVariables) {
  const std::string help = help_text(Dialect::kTorchrun);
  EXPECT_TRUE(contains(help,
                       "\nWhat to run:\n"
                       "  -m, --module                    the program is a Python module"));
  EXPECT_TRUE(contains(help,
                       "\n      --duplicate-stderr-filters LIST\n"
                       "                                  the same for stderr\n"));
  EXPECT_TRUE(contains(help, "(default 30, variable TORCH_ELASTIC_SHUTDOWN_TIMEOUT)\n"));
}

TEST(FlagText, MarkdownHasOneRowPerFlag) {
  const std::string table = help_markdown();
  EXPECT_TRUE(table.starts_with("| Flag | Meaning | Default | Variables |\n|---|---|---|---|\n"));
  EXPECT_TRUE(contains(table,
                       "| `--nnodes N\\|MIN:MAX` | number of nodes, or the range of it | `1:1` | "
                       "`MUSTER_NNODES`, `PET_NNODES` |\n"));
  EXPECT_TRUE(contains(table, "| `-t`, `--tee MASK` |"));
  EXPECT_TRUE(contains(table, "| `c10d`, as torchrun `static` |"));
  EXPECT_TRUE(contains(table, "| none, as torchrun `29500` |"));
  const auto rows = static_cast<size_t>(std::count(table.begin(), table.end(), '\n')) - 2;
  const auto known = std::ranges::count_if(
      flag_table(), [](const FlagRow& row) { return is_known(row, Dialect::kMuster); });
  EXPECT_EQ(rows, static_cast<size_t>(known));
}

TEST(FlagText, ThePageOfFlagsIsTheTable) {
  expect_page(
      "flags.md",
      "# Flags of `muster run` and `torchrun`\n\n" + made_from("launcher/options/*_flags.cc") +
          "\n"
          "`muster run --help=markdown` prints this table. How words and variables are read, "
          "and what the flags mean together: [the command line](" +
          std::string(kCommandLinePage) + ").\n\n" + help_markdown());
}

TEST(FlagText, TheVersionNamesMusterEvenAsTorchrun) {
  EXPECT_EQ(version_text(Personality::kMuster), "muster " MUSTER_VERSION "\n");
  EXPECT_EQ(version_text(Personality::kTorchrun), "torchrun (muster " MUSTER_VERSION ")\n");
}

TEST(FlagText, ExplanationsAreAlignedAndNoValueIsADash) {
  Options options;
  options.program = "s.py";
  options.arguments = {"a b"};
  options.explained = {{"--nnodes", "2", "command line"},
                       {"--log-dir", "", "default"},
                       {"--log-line-prefix-template", "[ x", "PET_X"}};
  EXPECT_EQ(explain_text(options),
            "flag                        value       source\n"
            "--nnodes                    2           command line\n"
            "--log-dir                   -           default\n"
            "--log-line-prefix-template  \"[ x\"       PET_X\n"
            "command                     s.py 'a b'  script\n");
}

TEST(FlagText, WhatIsWarnedOfStandsBelowTheValues) {
  Options options;
  options.warnings = {"--nnodes 3 (command line) counts, although LWS: LWS_GROUP_SIZE says 2"};
  EXPECT_TRUE(explain_text(options).ends_with(
      "\nwarning: --nnodes 3 (command line) counts, although LWS: LWS_GROUP_SIZE says 2\n"));
}

TEST(FlagText, ALongValueDoesNotMoveTheOthersSources) {
  Options options;
  options.explained = {{"--a", std::string(60, 'x'), "default"}, {"--b", "1", "default"}};
  const std::string text = explain_text(options);
  EXPECT_TRUE(contains(text, "--b   1" + std::string(47, ' ') + "  default\n"));
  EXPECT_TRUE(contains(text, std::string(60, 'x') + "  default\n"));
}

TEST(FlagText, ACommandOfSeveralLinesIsShownOnOne) {
  Options options;
  options.entry = EntryKind::kProgram;
  options.program = "python3";
  options.arguments = {"-c", "a\nb"};
  const std::string text = explain_text(options);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_TRUE(text.ends_with("  program\n"));
}

}  // namespace
}  // namespace muster::launcher
