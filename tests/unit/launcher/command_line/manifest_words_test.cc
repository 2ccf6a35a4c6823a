// `-f FILE` on a command line: whose word counts, and what of a cluster is left out.
#include "launcher/command_line/manifest_words.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "tests/support/fake_files.h"

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

std::string job(const std::string& container) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec:\n  completions: 2\n"
         "  parallelism: 2\n  template: {spec: {containers: [{" +
         container + "}]}}\n";
}

class ManifestWords : public ::testing::Test {
 protected:
  Result<CommandLine> read(const std::string& manifest, const Words& more = {},
                           const Variables& variables = {}) {
    files_.add_file("/m.yaml", manifest);
    Environment environment;
    for (const auto& [name, value] : variables) environment.set(name, value);
    Words words = {"-f", "/m.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    const PodFacts pod{environment, files_, "h"};
    return read_command_line({Personality::kMuster, "muster", words}, environment, RandomBytes{},
                             &pod);
  }
  // "x.py a; 2 nodes, 3 workers, 4 restarts", or the error.
  static std::string said(const Result<CommandLine>& command_line) {
    if (!command_line) return command_line.error().text;
    const Options& options = command_line->options;
    std::string text = options.program;
    for (const std::string& word : options.arguments) text += " " + word;
    return text + "; " + std::to_string(options.max_nodes) + " nodes, " +
           std::to_string(options.workers_per_node.number) + " workers, " +
           std::to_string(options.max_restarts) + " restarts";
  }

  muster::testing::FakeFiles files_;
};

constexpr const char* kMuster =
    "command: [muster, run, --nproc-per-node=3, --, x.py, a], "
    "env: [{name: MUSTER_MAX_RESTARTS, value: '4'}]";

TEST_F(ManifestWords, AContainersMusterIsTakenOver) {
  const auto command_line = read(job(kMuster));
  EXPECT_EQ(said(command_line), "x.py a; 2 nodes, 3 workers, 4 restarts");
  EXPECT_EQ(command_line->options.warnings, Words{});
  EXPECT_TRUE(command_line->options.environment.empty());  // it is read, not handed on
}

TEST_F(ManifestWords, SoIsTheMusterOfAnImageWhoseArgumentsAreGiven) {
  EXPECT_EQ(said(read(job("args: [x.py, a], env: [{name: MUSTER_MAX_RESTARTS, value: '4'}]"))),
            "x.py a; 2 nodes, 1 workers, 4 restarts");
}

TEST_F(ManifestWords, FlagsThenVariablesCountForMoreThanTheContainer) {
  EXPECT_EQ(said(read(job(kMuster), {"--nproc-per-node=1"}, {{"MUSTER_MAX_RESTARTS", "7"}})),
            "x.py a; 2 nodes, 1 workers, 7 restarts");
  const auto torchrun =
      read(job("command: [torchrun, --nproc_per_node=3, x.py]"), {"--nproc-per-node=1"});
  EXPECT_EQ(said(torchrun), "x.py; 2 nodes, 1 workers, 0 restarts");
  ASSERT_EQ(torchrun->options.warnings.size(), 1U);
  EXPECT_EQ(torchrun->options.warnings[0],
            "--nproc-per-node 1 (command line) counts, although /m.yaml: "
            "spec.template.spec.containers[0]: torchrun says 3");
}

TEST_F(ManifestWords, AnotherProgramHasWhatTheContainersLauncherWasTold) {
  EXPECT_EQ(said(read(job("command: [muster, run, -m, --nproc-per-node=3, pkg, a]"),
                      {"--", "y.py", "b"})),
            "y.py b; 2 nodes, 3 workers, 0 restarts");
}

TEST_F(ManifestWords, TheGpusOfThePodAreCountedWhereItsLauncherWouldCountThem) {
  for (const char* const count : {"auto", "gpu"}) {
    EXPECT_EQ(said(read(job("command: [muster, run, x.py], env: [{name: MUSTER_NPROC_PER_NODE, "
                            "value: " +
                            std::string(count) + "}], resources: {limits: {nvidia.com/gpu: 8}}"))),
              "x.py; 2 nodes, 8 workers, 0 restarts");
  }
}

TEST_F(ManifestWords, WhatIsForAClusterIsLeftOutWithOneRemark) {
  const std::string container =
      "command: [muster, run, --report, trainjob, --rdzv-endpoint, 'w-0:29400', "
      "'--rdzv-id=$(ID)', --rdzv-backend=c10d, --log-dir=/logs/a, x.py], env: ["
      "{name: MUSTER_JOB_SECRET_FILE, value: /etc/muster/secret}, "
      "{name: MUSTER_STATUS_PORT, value: '8080'}]";
  const auto command_line = read(job(container));
  ASSERT_TRUE(command_line) << command_line.error().text;
  EXPECT_EQ(command_line->options.warnings,
            Words{"/m.yaml: spec.template.spec.containers[0]: left out, as it is for a cluster: "
                  "--log-dir /logs/a, --rdzv-endpoint w-0:29400, --rdzv-id $(ID), --report "
                  "trainjob, MUSTER_STATUS_PORT 8080, MUSTER_JOB_SECRET_FILE /etc/muster/secret"});
  EXPECT_TRUE(command_line->options.environment.empty());
  EXPECT_TRUE(command_line->options.report.targets.empty());
  files_.add_file("/etc/muster/secret", "s");
  files_.add_directory("/logs");
  const auto here = read(job(container));
  EXPECT_EQ(here->options.log_dir, "/logs/a");
  EXPECT_EQ(here->options.environment.size(), 1U);
}

TEST_F(ManifestWords, AValueOfALogThatMusterDoesNotKnowIsTheProgramsAlone) {
  for (const char* const value : {"'%(message)s'", "''", "bogus"}) {
    const std::string text = value;
    const auto command_line = read(job("command: [x.py], env: [{name: LOG_FORMAT, value: " + text +
                                       "}, {name: LOG_LEVEL, value: " + text + "}]"));
    ASSERT_TRUE(command_line) << command_line.error().text;
    EXPECT_EQ(command_line->options.environment.size(), 2U);
    EXPECT_EQ(command_line->options.log_format, "text");
  }
  EXPECT_EQ(
      read(job("command: [x.py], env: [{name: LOG_FORMAT, value: JSON}]"))->options.log_format,
      "json");
}

TEST_F(ManifestWords, OnlyTheFirstOfPodsThatAreAlikeSaysSo) {
  const std::string manifest = job("command: [muster, run, --report, trainjob, x.py]");
  EXPECT_EQ(read(manifest, {"--node-rank", "0"})->options.warnings.size(), 1U);
  EXPECT_EQ(read(manifest, {"--node-rank", "1"})->options.warnings.size(), 0U);
}

TEST_F(ManifestWords, ARangeThatAllowsThePodsDoesNotContradictThem) {
  const std::string manifest = job("command: [muster, run, --nnodes, '1:2', x.py]");
  EXPECT_EQ(read(manifest)->options.warnings, Words{});
  EXPECT_EQ(read(manifest)->options.min_nodes, 1);
  EXPECT_EQ(read(manifest, {"--nnodes", "3"})->options.warnings.size(), 2U);
}

TEST_F(ManifestWords, ATimeToJoinStandsBesideOtherSettingsOfTheRendezvous) {
  const auto manifest = [](const std::string& conf) {
    return "apiVersion: ome.io/v1beta1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec:\n"
           "  mlPolicy: {numNodes: 2}\n"
           "  podGroupPolicy: {coscheduling: {scheduleTimeoutSeconds: 300}}\n"
           "  template: {spec: {replicatedJobs: [{name: w, template: {spec: {template: {spec: "
           "{containers: [{command: [torchrun, '--rdzv_conf=" +
           conf + "', x.py]}]}}}}}]}}\n";
  };
  const auto conf = [](const Result<CommandLine>& command_line) {
    if (!command_line) return command_line.error().text;
    for (const ExplainedOption& option : command_line->options.explained)
      if (option.flag == "--rdzv-conf") return option.value;
    return std::string();
  };
  const auto both = read(manifest("last_call_timeout=5"));
  EXPECT_EQ(conf(both), "last_call_timeout=5,join_timeout=300");
  EXPECT_EQ(both->options.warnings, Words{});
  EXPECT_EQ(conf(read(manifest("join_timeout=60"))), "join_timeout=60");
  EXPECT_EQ(read(manifest("join_timeout=60"))->options.warnings.size(), 1U);
}

TEST_F(ManifestWords, TheAddressOfRankZeroIsThatOfThisJob) {
  const auto command_line = read(
      job("command: [x, '--at=$(MASTER_ADDR):$(MASTER_PORT)'], env: [{name: MASTER_ADDR, value: "
          "j-0.j}]"));
  EXPECT_EQ(command_line->options.arguments, Words{"--at=${MASTER_ADDR}:${MASTER_PORT}"});
}

TEST_F(ManifestWords, AProgramIsInTheFolderOfItsContainer) {
  files_.add_file("/w/x.py", "");
  const std::string sub = *absolute_path("sub");
  files_.add_file(sub + "/x.py", "");
  const auto whole = read(job("command: [muster, run, x.py], workingDir: /w"));
  EXPECT_EQ(whole->options.program, "/w/x.py");
  EXPECT_EQ(whole->options.manifest.working_dir, "/w");
  const auto relative = read(job("command: [muster, run, x.py], workingDir: sub"));
  EXPECT_EQ(relative->options.program, sub + "/x.py");
  EXPECT_EQ(relative->options.manifest.working_dir, sub);
}

TEST_F(ManifestWords, ACommandThatIsMissingIsNamed) {
  EXPECT_EQ(said(read(job("image: x"))),
            "/m.yaml: spec.template.spec.containers[0]: the container has no command, and its "
            "image is not "
            "here: say the program behind --");
  EXPECT_EQ(said(read(job("command: [muster, run, --nosuch, x]"))),
            "/m.yaml: spec.template.spec.containers[0]: in the arguments of muster run: unknown "
            "flag '--nosuch'");
}

}  // namespace
}  // namespace muster::launcher
