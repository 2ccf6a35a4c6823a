// Commands that are launchers themselves: recognition, and the merge of both command lines.
#include "launcher/options/inner_launcher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "launcher/options/entry_kind.h"
#include "launcher/options/resolve_options.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;

// "dialect|interpreter|torchrun path|arguments" of a command line of Muster's, or "none".
std::string found(const Words& words) {
  const auto raw = scan_flags(Dialect::kMuster, words, Environment());
  if (!raw || !raw->program) return "not scanned";
  const auto inner = find_inner_launcher(entry_kind(*raw), *raw->program, raw->arguments);
  if (!inner) return "none";
  std::string text = inner->dialect == Dialect::kLaunch ? "launch" : "run";
  text += "|" + inner->interpreter + "|" + inner->torchrun_path + "|";
  for (const std::string& argument : inner->arguments) text += "[" + argument + "]";
  return text;
}

struct Command {
  Words words;
  const char* expected;
};

TEST(InnerLauncher, TorchrunIsRecognisedUnderAnyPath) {
  const Command cases[] = {
      {{"torchrun", "--nnodes=2", "s.py"}, "run|||[--nnodes=2][s.py]"},
      {{"/x/bin/torchrun", "s.py"}, "run||/x/bin/torchrun|[s.py]"},
      {{"--no-python", "torchrun", "s.py"}, "run|||[s.py]"},
      {{"--", "torchrun", "-m", "pkg", "--", "x"}, "run|||[-m][pkg][--][x]"},
      {{"torchrun"}, "run|||"},
  };
  for (const Command& c : cases) EXPECT_EQ(found(c.words), c.expected);
}

TEST(InnerLauncher, MusterIsRecognisedUnderAnyPath) {
  EXPECT_EQ(found({"muster", "run", "--nnodes=2", "--", "x"}), "run|||[--nnodes=2][--][x]");
  EXPECT_EQ(found({"/opt/muster", "run"}), "run|||");
  EXPECT_EQ(found({"muster", "doctor"}), "none");
  EXPECT_EQ(found({"muster"}), "none");
}

TEST(InnerLauncher, PythonInFrontOfTheModuleIsRecognisedWithItsOptions) {
  const Command cases[] = {
      {{"python", "-m", "torch.distributed.run", "s.py"}, "run|python||[s.py]"},
      {{"python3", "-u", "-m", "torch.distributed.launch", "--use-env", "s.py"},
       "launch|python3||[--use-env][s.py]"},
      {{"/opt/venv/bin/python3.11", "-mtorch.distributed.run", "s.py"},
       "run|/opt/venv/bin/python3.11||[s.py]"},
      {{"python", "-uBm", "torch.distributed.run"}, "run|python||"},
      {{"python", "-X", "dev", "-Wignore", "-W", "x", "-m", "torch.distributed.run", "s.py"},
       "run|python||[s.py]"},
      {{"--no-python", "python", "-m", "torch.distributed.run", "s.py"}, "run|python||[s.py]"},
      {{"-m", "torch.distributed.run", "s.py"}, "run|||[s.py]"},
      {{"-m", "torch.distributed.launch", "s.py"}, "launch|||[s.py]"},
  };
  for (const Command& c : cases) EXPECT_EQ(found(c.words), c.expected);
}

TEST(InnerLauncher, PythonInFrontOfTheScriptIsRecognised) {
  const Command cases[] = {
      {{"python", "/x/bin/torchrun", "s.py"}, "run|python|/x/bin/torchrun|[s.py]"},
      {{"python", "torchrun", "s.py"}, "run|python||[s.py]"},
      {{"python", "-u", "/l/site-packages/torch/distributed/run.py", "s.py"}, "run|python||[s.py]"},
      {{"/l/site-packages/torch/distributed/launch.py", "s.py"}, "launch|||[s.py]"},
  };
  for (const Command& c : cases) EXPECT_EQ(found(c.words), c.expected);
}

TEST(InnerLauncher, OtherCommandsAreLeftAlone) {
  const Words commands[] = {
      {"s.py", "torchrun"},
      {"python", "s.py", "-m", "torch.distributed.run"},
      {"python", "-m", "pkg", "torchrun"},
      {"python", "-c", "torchrun"},
      {"python", "-", "torchrun"},
      {"python", "-m"},
      {"python", "-X"},
      {"python"},
      {"python", "--version", "torchrun"},
      {"pythonista", "torchrun"},
      {"pypy3", "-m", "torch.distributed.run"},
      {"bash", "-c", "torchrun s.py"},
      {"env", "torchrun", "s.py"},
      {"my-torchrun", "s.py"},
      {"-m", "torch.distributed.elastic", "s.py"},
      {"run.py"},
  };
  for (const Words& words : commands) EXPECT_EQ(found(words), "none") << words.front();
}

TEST(InnerLauncher, AVariableForTheInnerModuleDoesNotHideTheLauncher) {
  const auto inner = find_inner_launcher(EntryKind::kModule, "torchrun", {"pkg"});
  ASSERT_TRUE(inner);
  EXPECT_EQ(inner->name, "torchrun");
}

// Taking over

RawFlags scan(const Words& words, const Environment& environment) {
  auto raw = scan_flags(Dialect::kMuster, words, environment);
  EXPECT_TRUE(raw);
  return raw ? *std::move(raw) : RawFlags{};
}

Result<RawFlags> taken_over(const Words& outer_words, const Words& inner_words,
                            const Environment& environment = {}) {
  const InnerLauncher inner{"torchrun", Dialect::kTorchrun, "python3.11", "", inner_words};
  return take_over(scan(outer_words, environment), inner, environment);
}

std::string value_of(const Result<RawFlags>& raw, Flag flag) {
  const GivenValue* value = raw ? raw->find(flag) : nullptr;
  return value == nullptr ? "nothing" : value->text + " from " + value->source;
}

TEST(InnerLauncher, TheInnerCommandLineIsReadWithTorchrunsRules) {
  const auto raw = taken_over({"torchrun"}, {"--nproc=2", "train", "--", "x"});
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->dialect, Dialect::kTorchrun);
  EXPECT_EQ(raw->program, "train");
  EXPECT_EQ(raw->arguments, Words{"x"});
  EXPECT_EQ(raw->interpreter, "python3.11");
  EXPECT_EQ(value_of(raw, flag::kNprocPerNode), "2 from torchrun");
  EXPECT_EQ(raw->warnings, Words{});
}

TEST(InnerLauncher, OuterFlagsStayAndInnerOnesWin) {
  const auto raw = taken_over({"--grace-period=5", "--nnodes=2", "--tee=3", "torchrun"},
                              {"--nnodes=4", "--tee=3", "s.py"});
  EXPECT_EQ(value_of(raw, flag::kGracePeriod), "5 from command line");
  EXPECT_EQ(value_of(raw, flag::kNnodes), "4 from torchrun");
  EXPECT_EQ(raw->warnings, Words{"--nnodes is '2' for muster and '4' for torchrun, using '4'"});
}

TEST(InnerLauncher, OuterFlagsBeatTheEnvironment) {
  Environment environment;
  environment.set("PET_NNODES", "8");
  environment.set("PET_TEE", "1");
  const auto raw = taken_over({"--nnodes=2", "torchrun"}, {"s.py"}, environment);
  EXPECT_EQ(value_of(raw, flag::kNnodes), "2 from command line");
  EXPECT_EQ(value_of(raw, flag::kTee), "1 from PET_TEE");
  EXPECT_EQ(raw->warnings, Words{});
}

TEST(InnerLauncher, WhatChoseTheOuterProgramDoesNotChooseTheInnerOne) {
  const auto raw = taken_over({"--no-python", "torchrun"}, {"s.py"});
  EXPECT_EQ(value_of(raw, flag::kNoPython), "nothing");
  EXPECT_EQ(value_of(taken_over({"-m", "torchrun"}, {"s.py"}), flag::kModule), "nothing");
  EXPECT_EQ(value_of(taken_over({"torchrun"}, {"-m", "s.py"}), flag::kModule),
            "true from torchrun");
}

TEST(InnerLauncher, ErrorsOfTheInnerCommandLineNameTheLauncher) {
  const auto raw = taken_over({"torchrun"}, {"--nonsense"});
  ASSERT_FALSE(raw);
  EXPECT_EQ(raw.error().text, "in the arguments of torchrun: unknown flag '--nonsense'");
  EXPECT_EQ(raw.error().code, Code::kUsage);
}

TEST(InnerLauncher, AnInnerRequestIsKept) {
  const auto raw = taken_over({"torchrun"}, {"--help"});
  ASSERT_TRUE(raw);
  EXPECT_TRUE(raw->request);
}

}  // namespace
}  // namespace muster::launcher
