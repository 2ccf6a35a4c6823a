// Whole command lines, as they are found in manifests, scripts and other tools.
#include "launcher/command_line/command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

Result<CommandLine> read(const Invocation& invocation, const Variables& variables = {}) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  return read_command_line(invocation, environment, RandomBytes{});
}

Result<CommandLine> muster(const Words& words, const Variables& variables = {}) {
  return read({Personality::kMuster, "muster", words}, variables);
}
Result<CommandLine> torchrun(const Words& words, const Variables& variables = {}) {
  return read({Personality::kTorchrun, "torchrun", words}, variables);
}

std::string printed(const Result<CommandLine>& command_line) {
  if (!command_line) return "error: " + command_line.error().text;
  return command_line->print.value_or("nothing");
}

TEST(CommandLine, RequestsAreAnsweredInTheDialectOfTheCaller) {
  EXPECT_TRUE(printed(muster({"--help"})).starts_with("usage: muster run"));
  EXPECT_TRUE(printed(torchrun({"-h"})).starts_with("usage: torchrun"));
  EXPECT_TRUE(printed(muster({"torchrun", "--help"})).starts_with("usage: torchrun"));
  EXPECT_TRUE(printed(muster({"--help=markdown"})).starts_with("| Flag |"));
  EXPECT_TRUE(printed(muster({"--version"})).starts_with("muster "));
  EXPECT_TRUE(printed(torchrun({"--version"})).starts_with("torchrun (muster "));
  EXPECT_TRUE(
      printed(torchrun({"--print-completion", "bash"})).starts_with("_torchrun_values() {"));
  EXPECT_EQ(printed(muster({"--help=html"})), "error: --help: 'html' is not supported");
  EXPECT_EQ(printed(muster({"--version=2"})), "error: --version: '2' is not supported");
  EXPECT_TRUE(printed(muster({"--print-completion=zsh"})).starts_with("autoload "));
  EXPECT_EQ(printed(muster({"--print-completion=fish"})),
            "error: --print-completion: 'fish' is not supported");
}

TEST(CommandLine, MessagesShowWhatATerminalWouldObey) {
  const std::string text = printed(muster({"--redirects", "9\r", "s.py"}));
  EXPECT_EQ(text.find('\r'), std::string::npos) << text;
  EXPECT_NE(text.find("9\\r"), std::string::npos) << text;
}

TEST(CommandLine, BehindAnInnerMusterThereMayBeAnotherLauncher) {
  const auto command_line =
      muster({"--tee=3", "muster", "run", "--max-restarts=2", "torchrun", "--nnodes=4", "x.py"});
  ASSERT_TRUE(command_line) << command_line.error().text;
  EXPECT_EQ(command_line->options.program, "x.py");
  EXPECT_EQ(command_line->options.max_nodes, 4);
  EXPECT_EQ(command_line->options.max_restarts, 2);
}

TEST(CommandLine, ThatAShellsNumberIsLostIsToldOf) {
  EXPECT_EQ(muster({"sh", "-c", "kill $$"})->options.warnings.size(), 1u);
  EXPECT_EQ(muster({"sh", "-c", "kill $$$$; echo $x"})->options.warnings, Words{});
  EXPECT_EQ(muster({"s.py", "$$"})->options.warnings, Words{});
}

TEST(CommandLine, FlagsBehindTheScriptAreToldOf) {
  const auto warnings = [](const Words& words) { return torchrun(words)->options.warnings; };
  const Words told = {
      "--nproc_per_node stands behind the program, so it is an argument of the program"};
  EXPECT_EQ(warnings({"s.py", "--nproc_per_node", "2"}), told);
  EXPECT_EQ(warnings({"s.py", "--nproc_per_node=2"}), told);
  EXPECT_EQ(warnings({"--nproc-per-node=2", "s.py", "--nproc_per_node=2"}), Words{});
  EXPECT_EQ(warnings({"s.py", "--epochs", "2"}), Words{});
  EXPECT_EQ(warnings({"--no-python", "launch", "--nproc_per_node=2"}), Words{});
}

TEST(CommandLine, ExplainPrintsTheTableAndRunsNothing) {
  const std::string text = printed(muster({"--explain", "--nproc-per-node=4", "s.py", "x"}));
  EXPECT_TRUE(text.starts_with("flag "));
  EXPECT_NE(text.find("\n--nproc-per-node            4 "), std::string::npos);
  EXPECT_NE(text.find("s.py x"), std::string::npos);
  EXPECT_EQ(printed(muster({"s.py"})), "nothing");
}

TEST(CommandLine, TrainerRunsTorchrunWithEverythingElseInVariables) {
  const auto command_line = torchrun({"--no-python", "python3", "-c", "print(1)\nprint(2)"},
                                     {{"PET_NNODES", "4"},
                                      {"PET_NPROC_PER_NODE", "auto"},
                                      {"PET_NODE_RANK", "3"},
                                      {"PET_MASTER_ADDR", "job-node-0-0.job"},
                                      {"PET_MASTER_PORT", "29400"}});
  ASSERT_TRUE(command_line);
  const Options& options = command_line->options;
  EXPECT_EQ(options.entry, EntryKind::kProgram);
  EXPECT_EQ(options.program, "python3");
  EXPECT_EQ(options.arguments, (Words{"-c", "print(1)\nprint(2)"}));
  EXPECT_EQ(options.backend, RendezvousBackend::kStatic);
  EXPECT_EQ(options.max_nodes, 4);
  EXPECT_EQ(options.workers_per_node.kind, WorkerCountKind::kAuto);
  EXPECT_EQ(options.node_rank, 3);
  EXPECT_EQ(options.master_addr, "job-node-0-0.job");
  EXPECT_EQ(options.master_port, 29400);
}

TEST(CommandLine, TrainingOperatorSetsStandaloneToNothing) {
  const auto command_line = torchrun({"s.py"}, {{"PET_STANDALONE", ""}, {"PET_MAX_RESTARTS", "3"}});
  ASSERT_TRUE(command_line);
  EXPECT_TRUE(command_line->options.standalone);
  EXPECT_EQ(command_line->options.max_restarts, 3);
}

TEST(CommandLine, SlurmScriptsMixSpellingsAndLeaveOutThePort) {
  const auto command_line =
      torchrun({"--nnodes", "2", "--nproc_per_node", "8", "--rdzv-id", "4711", "--rdzv_backend",
                "c10d", "--rdzv_endpoint=gpu01", "train.py", "--data_dir", "/d"});
  ASSERT_TRUE(command_line);
  EXPECT_EQ(command_line->options.rdzv_endpoint, "gpu01");
  EXPECT_EQ(command_line->options.run_id, "4711");
  EXPECT_EQ(command_line->options.arguments, (Words{"--data_dir", "/d"}));
}

TEST(CommandLine, TorchXPassesAnEmptyRole) {
  const auto command_line = torchrun({"--rdzv_backend", "c10d", "--rdzv_endpoint", "localhost:0",
                                      "--rdzv_id", "app", "--nnodes", "1", "--nproc_per_node", "2",
                                      "--tee", "3", "--role", "", "-m", "pkg", "--x"});
  ASSERT_TRUE(command_line);
  EXPECT_EQ(command_line->options.role, "");
  EXPECT_EQ(command_line->options.entry, EntryKind::kModule);
  EXPECT_EQ(command_line->options.run_id, "app");
}

TEST(CommandLine, MusterTakesThePlaceOfTorchrunBehindIt) {
  const auto command_line =
      muster({"--log-level=debug", "python3.11", "-u", "-m", "torch.distributed.launch",
              "--nproc_per_node=2", "--master_port=29501", "train", "--lr=1"});
  ASSERT_TRUE(command_line);
  const Options& options = command_line->options;
  EXPECT_EQ(options.personality, Personality::kMuster);
  EXPECT_EQ(options.entry, EntryKind::kScript);  // torchrun's rule, not Muster's
  EXPECT_EQ(options.program, "train");
  EXPECT_EQ(options.arguments, Words{"--lr=1"});
  EXPECT_EQ(options.interpreter, "python3.11");
  EXPECT_TRUE(options.launch_py);
  EXPECT_EQ(options.backend, RendezvousBackend::kStatic);
  EXPECT_EQ(options.workers_per_node.number, 2);
  EXPECT_EQ(options.log_level, "debug");
}

TEST(CommandLine, TakenOverCommandsKeepMustersOwnDefaults) {
  const auto command_line = muster({"/x/bin/torchrun", "s.py"});
  ASSERT_TRUE(command_line);
  EXPECT_EQ(command_line->options.log_level, "info");
  EXPECT_EQ(command_line->options.torchrun_path, "/x/bin/torchrun");
  EXPECT_FALSE(command_line->options.launch_py);
}

TEST(CommandLine, TheOldLauncherWithoutPythonNeedsUseEnv) {
  const Words launch = {"python", "-m", "torch.distributed.launch", "--no-python"};
  Words refused = launch;
  refused.emplace_back("prog");
  EXPECT_EQ(printed(muster(refused)),
            "error: --no-python needs --use-env: only a Python script takes --local-rank");
  Words accepted = launch;
  accepted.insert(accepted.end(), {"--use_env", "prog"});
  const auto command_line = muster(accepted);
  ASSERT_TRUE(command_line);
  EXPECT_FALSE(command_line->options.launch_py);
  EXPECT_EQ(command_line->options.entry, EntryKind::kProgram);
}

TEST(CommandLine, AsTorchrunNothingIsTakenOver) {
  const auto command_line = torchrun({"--no-python", "torchrun", "--nnodes=2", "s.py"});
  ASSERT_TRUE(command_line);
  EXPECT_EQ(command_line->options.program, "torchrun");
  EXPECT_EQ(command_line->options.arguments, (Words{"--nnodes=2", "s.py"}));
}

TEST(CommandLine, APathOfTorchrunTellsWhereItsInterpreterIs) {
  const auto by_path = read({Personality::kTorchrun, "/v/bin/torchrun", {"s.py"}});
  EXPECT_EQ(by_path->options.torchrun_path, "/v/bin/torchrun");
  EXPECT_EQ(torchrun({"s.py"})->options.torchrun_path, "");
  const auto by_muster = read({Personality::kMuster, "/v/bin/muster", {"s.py"}});
  EXPECT_EQ(by_muster->options.torchrun_path, "");
}

TEST(CommandLine, ErrorsAreUsageErrorsOfOneBoundedLine) {
  const auto command_line = muster({"--nnodes=" + std::string(10'000, '\n'), "s.py"});
  ASSERT_FALSE(command_line);
  EXPECT_EQ(command_line.error().code, Code::kUsage);
  EXPECT_EQ(command_line.error().text.size(), kMaxMessageBytes);
  EXPECT_EQ(command_line.error().text.find('\n'), std::string::npos);
}

TEST(CommandLine, WarningsAreBoundedLinesToo) {
  const auto command_line = muster({"--rdzv-conf=a\nb=1", "s.py"});
  ASSERT_TRUE(command_line);
  EXPECT_EQ(command_line->options.warnings,
            Words{"--rdzv-conf: key 'a\\nb' is unknown and has no effect"});
}

}  // namespace
}  // namespace muster::launcher
