// From flags to Options: defaults of both personalities, implied standalone mode, contradictions.
#include "launcher/options/resolve_options.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

#include "launcher/options/flag_search.h"
#include "launcher/options/option_values.h"
#include "tests/support/resolved_options.h"

namespace muster::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ResolveOptions, DefaultsAsTorchrunAreTorchruns) {
  const Options options = torchrun({});
  EXPECT_EQ(options.personality, Personality::kTorchrun);
  EXPECT_EQ(options.entry, EntryKind::kScript);
  EXPECT_EQ(options.program, "s.py");
  EXPECT_EQ(options.min_nodes, 1);
  EXPECT_EQ(options.max_nodes, 1);
  EXPECT_EQ(options.workers_per_node.kind, WorkerCountKind::kNumber);
  EXPECT_EQ(options.workers_per_node.number, 1);
  EXPECT_EQ(options.role, "default");
  EXPECT_EQ(options.max_restarts, 0);
  EXPECT_EQ(options.restart_backoff, seconds(0));
  EXPECT_EQ(options.grace_period, seconds(30));
  EXPECT_EQ(options.signals_to_handle, (std::vector<int>{SIGTERM, SIGINT, SIGHUP, SIGQUIT}));
  EXPECT_EQ(options.termination_log, "");
  EXPECT_EQ(options.log_dir, std::nullopt);
  EXPECT_EQ(options.redirects.of(0), Streams{});
  EXPECT_EQ(options.tee.of(0), Streams{});
  EXPECT_EQ(options.prefix_template, std::nullopt);
  EXPECT_TRUE(options.local_ranks_filter.empty());
  EXPECT_EQ(options.log_level, "warning");
  EXPECT_EQ(options.log_format, "text");
  EXPECT_EQ(options.numa_binding, std::nullopt);
  EXPECT_FALSE(options.virtual_local_rank);
  EXPECT_FALSE(options.launch_py);
  EXPECT_FALSE(options.explain);
  EXPECT_EQ(options.warnings, Lines{});
}

TEST(ResolveOptions, DefaultsAsMusterDifferInBackendAndLogLevel) {
  const Options options = muster({"--nnodes=2"});
  EXPECT_EQ(options.personality, Personality::kMuster);
  EXPECT_EQ(options.backend, RendezvousBackend::kC10d);
  EXPECT_FALSE(options.standalone);
  EXPECT_EQ(options.rdzv_endpoint, "");
  EXPECT_EQ(options.run_id, "none");
  EXPECT_EQ(options.log_level, "info");
  EXPECT_EQ(torchrun({"--nnodes=2"}).backend, RendezvousBackend::kStatic);
}

TEST(ResolveOptions, EveryFlagReachesItsOption) {
  const Options options = torchrun({"--nnodes=2:4",
                                    "--nproc-per-node=gpu",
                                    "--rdzv-backend=c10d",
                                    "--rdzv-endpoint=h:1",
                                    "--rdzv-id=id",
                                    "--rdzv-conf=join_timeout=5",
                                    "--max-restarts=3",
                                    "--role=trainer",
                                    "--log-dir=/logs",
                                    "--redirects=1",
                                    "--tee=0:3",
                                    "--log-line-prefix-template=x",
                                    "--local-ranks-filter=1",
                                    "--duplicate-stdout-filters=a",
                                    "--duplicate-stderr-filters=b",
                                    "--node-rank=1",
                                    "--master-addr=m",
                                    "--master-port=5",
                                    "--local-addr=10.0.0.9",
                                    "--numa-binding=socket",
                                    "--signals-to-handle=SIGUSR2",
                                    "--virtual-local-rank",
                                    "--restart-backoff=2s",
                                    "--grace-period=90",
                                    "--termination-log=/t",
                                    "--log-level=debug",
                                    "--log-format=json"});
  EXPECT_EQ(options.min_nodes, 2);
  EXPECT_EQ(options.max_nodes, 4);
  EXPECT_EQ(options.workers_per_node.kind, WorkerCountKind::kGpu);
  EXPECT_EQ(options.backend, RendezvousBackend::kC10d);
  EXPECT_EQ(options.rdzv_endpoint, "h:1");
  EXPECT_EQ(options.run_id, "id");
  EXPECT_EQ(options.rdzv_conf.at("join_timeout"), "5");
  EXPECT_EQ(options.max_restarts, 3);
  EXPECT_EQ(options.role, "trainer");
  EXPECT_EQ(options.log_dir, "/logs");
  EXPECT_EQ(options.redirects.of(7), (Streams{true, false}));
  EXPECT_EQ(options.tee.of(0), (Streams{true, true}));
  EXPECT_EQ(options.prefix_template, "x");
  EXPECT_EQ(options.local_ranks_filter, std::vector<int>{1});
  EXPECT_EQ(options.stdout_filters, Lines{"a"});
  EXPECT_EQ(options.stderr_filters, Lines{"b"});
  EXPECT_EQ(options.node_rank, 1);
  EXPECT_EQ(options.master_addr, "m");
  EXPECT_EQ(options.master_port, 5);
  EXPECT_EQ(options.local_addr, "10.0.0.9");
  EXPECT_EQ(options.numa_binding, NumaBinding::kSocket);
  EXPECT_EQ(options.signals_to_handle, std::vector<int>{SIGUSR2});
  EXPECT_TRUE(options.virtual_local_rank);
  EXPECT_EQ(options.restart_backoff, seconds(2));
  EXPECT_EQ(options.grace_period, seconds(90));
  EXPECT_EQ(options.termination_log, "/t");
  EXPECT_EQ(options.log_level, "debug");
  EXPECT_EQ(options.log_format, "json");
  EXPECT_EQ(options.warnings, Lines{});
}

// Entry

TEST(ResolveOptions, OneOfFourKindsOfEntryIsChosen) {
  const auto entry = [](Personality personality, const Words& words) {
    const auto options = resolved(personality, words);
    EXPECT_TRUE(options);
    return options ? options->entry : EntryKind::kScript;
  };
  for (const Personality personality : {Personality::kMuster, Personality::kTorchrun}) {
    EXPECT_EQ(entry(personality, {"s.py"}), EntryKind::kScript);
    EXPECT_EQ(entry(personality, {"-m", "pkg"}), EntryKind::kModule);
    EXPECT_EQ(entry(personality, {"--no-python", "s.py"}), EntryKind::kProgram);
    EXPECT_EQ(entry(personality, {"--run-path", "s.py"}), EntryKind::kRunPath);
    EXPECT_EQ(entry(personality, {"--run-path", "--no-python", "s.py"}), EntryKind::kRunPath);
  }
}

TEST(ResolveOptions, OnlyMusterStartsOtherNamesThanScriptsDirectly) {
  for (const char* program : {"train", "/bin/sh", "python", "s.sh", "py", ".p"}) {
    EXPECT_EQ(resolved(Personality::kMuster, {program})->entry, EntryKind::kProgram) << program;
    EXPECT_EQ(resolved(Personality::kTorchrun, {program})->entry, EntryKind::kScript) << program;
  }
  for (const char* program : {"s.py", "./a/b.pyc", "app.pyz"}) {
    EXPECT_EQ(resolved(Personality::kMuster, {program})->entry, EntryKind::kScript) << program;
  }
}

TEST(ResolveOptions, FlagsOfTheEntryThatContradictAreRefusedOrIgnoredAsByTorchrun) {
  EXPECT_EQ(refused({"--no-python", "-m"}),
            "--no-python and --module exclude each other: a module needs an interpreter");
  EXPECT_EQ(refused({"-m"}, {{"PET_NO_PYTHON", "1"}}),
            "PET_NO_PYTHON and --module exclude each other: a module needs an interpreter");
  EXPECT_EQ(torchrun({"--run-path", "-m"}).warnings, Lines{"--run-path beats --module"});
  EXPECT_EQ(torchrun({"--run-path", "--no-python"}).warnings,
            Lines{"--run-path beats --no-python"});
}

TEST(ResolveOptions, TheProgramMayBeMissingOnlyWithExplain) {
  EXPECT_EQ(resolved(Personality::kTorchrun, {"--standalone"}).error().text,
            "nothing to run: a script, module or program must follow the flags");
  EXPECT_EQ(resolved(Personality::kTorchrun, {""}).error().text,
            "nothing to run: a script, module or program must follow the flags");
  EXPECT_TRUE(resolved(Personality::kTorchrun, {"--explain"}));
}

// Values: every flag with a value that it refuses

struct Refusal {
  const char* flag;
  const char* value;
  const char* complaint;
};

constexpr Refusal kRefusals[] = {
    {"nnodes", "4:2", "MIN is larger than MAX"},
    {"nproc-per-node", "0", "the smallest number of workers is 1"},
    {"rdzv-backend", "zookeeper", "none of static, c10d, etcd, etcd-v2"},
    {"rdzv-endpoint", "h:x", "'x' is not a port (0 to 65535)"},
    {"rdzv-conf", "a", "key 'a' has no value"},
    {"node-rank", "x", "not a whole number from 0 to 65535"},
    {"node-rank", "65536", "not a whole number from 0 to 65535"},
    {"master-port", "70000", "not a port (0 to 65535)"},
    {"max-restarts", "-1", "not a whole number from 0 to 2147483647"},
    {"restart-backoff", "soon", "not a time (5, 1.5s, 500ms, 5m)"},
    {"grace-period", "-1", "not a time from 0 to 5m (30, 1.5s, 500ms, 5m)"},
    {"grace-period", "301", "not a time from 0 to 5m (30, 1.5s, 500ms, 5m)"},
    {"shutdown-timeout", "-1", "not a whole number of seconds from 0 to 86400"},
    {"redirects", "4", "a mask is 0, 1, 2 or 3, or RANK:MASK,..."},
    {"tee", "x", "a mask is 0, 1, 2 or 3, or RANK:MASK,..."},
    {"local-ranks-filter", "a", "'a' is not a local rank (0 to 4095)"},
    {"log-level", "loud", "none of debug, info, warning, error, off"},
    {"log-format", "xml", "none of text, json"},
    {"numa-binding", "no", "none of node, socket, exclusive, core-complex"},
    {"monitor-interval", "0", "not a number of seconds above 0"},
    {"start-method", "thread", "none of spawn, fork, forkserver"},
};

TEST(ResolveOptions, AWrongValueIsNamedWithItsFlag) {
  for (const Refusal& c : kRefusals) {
    const std::string flag = "--" + std::string(c.flag);
    EXPECT_EQ(refused({flag + "=" + c.value}), flag + " '" + c.value + "': " + c.complaint);
  }
}

TEST(ResolveOptions, AWrongValueIsNamedWithItsVariable) {
  for (const Refusal& c : kRefusals) {
    const std::string name = muster_variable(*find_flag(c.flag, Dialect::kMuster));
    EXPECT_EQ(refused({}, {{name, c.value}}), name + " '" + c.value + "': " + c.complaint);
  }
}

TEST(ResolveOptions, TheFirstWrongFlagOfTheTableIsReported) {
  EXPECT_EQ(refused({"--tee=x", "--nnodes=x"}), "--nnodes 'x': neither N nor MIN:MAX");
}

// Failing and stopping

TEST(ResolveOptions, TheGracePeriodHasTwoNamesAndThreeVariables) {
  EXPECT_EQ(torchrun({"--shutdown-timeout=5"}).grace_period, seconds(5));
  EXPECT_EQ(torchrun({"--grace-period=500ms"}).grace_period, milliseconds(500));
  EXPECT_EQ(torchrun({}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "7"}}).grace_period, seconds(7));
  EXPECT_EQ(torchrun({}, {{"MUSTER_GRACE_PERIOD", "1m"}}).grace_period, seconds(60));
  const Options options = torchrun({"--shutdown-timeout=5"});
  EXPECT_EQ(explained(options, "--grace-period"), "5 (--shutdown-timeout)");
  EXPECT_EQ(options.warnings, Lines{});
}

// A command line of torchrun's, which has no limit, works as it is.
TEST(ResolveOptions, ALongShutdownTimeoutIsCutToTheLongestGracePeriod) {
  const Options flag = torchrun({"--shutdown-timeout=600"});
  EXPECT_EQ(flag.grace_period, kMaxGracePeriod);
  EXPECT_EQ(flag.warnings, Lines{"--shutdown-timeout: more than 300 seconds, 300 are used"});
  EXPECT_EQ(explained(flag, "--grace-period"), "300 (--shutdown-timeout)");
  const Options variable = torchrun({}, {{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "301"}});
  EXPECT_EQ(variable.grace_period, kMaxGracePeriod);
  EXPECT_EQ(variable.warnings,
            Lines{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT: more than 300 seconds, 300 are used"});
  EXPECT_EQ(torchrun({"--shutdown-timeout=300"}).warnings, Lines{});
}

TEST(ResolveOptions, TheStrongerOfTwoGracePeriodsWins) {
  const Options ours = torchrun({"--shutdown-timeout=5", "--grace-period=6"});
  EXPECT_EQ(ours.grace_period, seconds(6));
  EXPECT_EQ(ours.warnings,
            Lines{"--shutdown-timeout has no effect: --grace-period says otherwise"});
  const Options theirs = torchrun({"--shutdown-timeout=5"}, {{"MUSTER_GRACE_PERIOD", "6"}});
  EXPECT_EQ(theirs.grace_period, seconds(5));
  EXPECT_EQ(theirs.warnings,
            Lines{"MUSTER_GRACE_PERIOD has no effect: --shutdown-timeout says otherwise"});
  EXPECT_EQ(torchrun({"--shutdown-timeout=6", "--grace-period=6s"}).warnings, Lines{});
}

TEST(ResolveOptions, UnknownSignalsAreRefused) {
  EXPECT_EQ(refused({"--signals-to-handle=SIGTERM,SIGFOO"}, {}, Personality::kMuster),
            "--signals-to-handle 'SIGTERM,SIGFOO': 'SIGFOO' is no signal that can be handled");
}

TEST(ResolveOptions, UnknownSignalsOnlyWarnTorchrun) {
  const Options options = torchrun({"--signals-to-handle=SIGTERM,SIGFOO,SIGKILL"});
  EXPECT_EQ(options.signals_to_handle, std::vector<int>{SIGTERM});
  EXPECT_EQ(options.warnings,
            (Lines{"--signals-to-handle: 'SIGFOO' is no signal that can be handled, ignored",
                   "--signals-to-handle: 'SIGKILL' is no signal that can be handled, ignored"}));
}

// Output

TEST(ResolveOptions, TheNullDeviceTurnsFilesOff) {
  const Options options = torchrun({"--log-dir=/dev/null", "-r3", "-t", "0:1"});
  EXPECT_EQ(options.log_dir, "/dev/null");
  EXPECT_EQ(options.redirects.of(0), Streams{});
  EXPECT_EQ(options.tee.of(0), Streams{});
  EXPECT_EQ(explained(options, "--redirects"), "0 (--log-dir /dev/null)");
  EXPECT_EQ(explained(options, "--tee"), "0 (--log-dir /dev/null)");
}

TEST(ResolveOptions, AnEmptyTemplateIsTheDefaultForTorchrunAndNoPrefixForMuster) {
  EXPECT_EQ(torchrun({"--log-line-prefix-template="}).prefix_template, std::nullopt);
  EXPECT_EQ(muster({"--log-line-prefix-template="}).prefix_template, "");
  EXPECT_EQ(torchrun({}, {{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", "x"}}).prefix_template, "x");
}

TEST(ResolveOptions, AnUnknownMacroInThePrefixIsRefused) {
  const std::string complaint =
      "'${nodename}' is none of ${role_name}, ${local_rank}, ${rank}, ${hostname}, ${node}";
  EXPECT_EQ(refused({"--log-line-prefix-template=${nodename}:"}, {}, Personality::kMuster),
            "--log-line-prefix-template '${nodename}:': " + complaint);
  const Options options = torchrun({"--log-line-prefix-template=${nodename}:"});
  EXPECT_EQ(options.prefix_template, "${nodename}:");
  EXPECT_EQ(options.warnings,
            Lines{"--log-line-prefix-template: " + complaint + ", stays as it is"});
}

TEST(ResolveOptions, FiltersWithoutATeeAreWorthAWarning) {
  EXPECT_EQ(muster({"--duplicate-stdout-filters=a", "--duplicate-stderr-filters=b"}).warnings,
            (Lines{"--duplicate-stdout-filters has no effect: it needs --tee 1 or 3",
                   "--duplicate-stderr-filters has no effect: it needs --tee 2 or 3"}));
  EXPECT_EQ(muster({"--tee=2", "--duplicate-stdout-filters=a"}).warnings,
            Lines{"--duplicate-stdout-filters has no effect: it needs --tee 1 or 3"});
  EXPECT_EQ(muster({"--tee=0:1", "--duplicate-stdout-filters=a"}).warnings, Lines{});
  EXPECT_EQ(muster({"--tee=3", "--log-dir=/dev/null", "--duplicate-stderr-filters=b"}).warnings,
            Lines{"--duplicate-stderr-filters has no effect: it needs files, which --log-dir "
                  "/dev/null turns off"});
}

TEST(ResolveOptions, ALogLevelThatOnlyOthersUnderstandDoesNotEndTheJob) {
  EXPECT_EQ(torchrun({}, {{"LOGLEVEL", "INFO"}}).log_level, "info");
  const Options options = torchrun({}, {{"LOGLEVEL", "TRACE"}});
  EXPECT_EQ(options.log_level, "warning");
  EXPECT_EQ(explained(options, "--log-level"), "warning (default)");
  EXPECT_EQ(options.warnings, Lines{"LOGLEVEL 'TRACE' is no level of ours, using warning"});
}

TEST(ResolveOptions, LocalRanksThatCannotExistAreWorthAWarning) {
  const Options options =
      torchrun({"--nproc-per-node=2", "-r", "1:1,2:1", "-t10:3", "--local-ranks-filter=0,5"});
  EXPECT_EQ(options.warnings,
            (Lines{"--redirects: there is no local rank 2, the last one is 1",
                   "--tee: there is no local rank 10, the last one is 1",
                   "--local-ranks-filter: there is no local rank 5, the last one is 1"}));
  EXPECT_EQ(torchrun({"--nproc-per-node=auto", "-r", "9:1"}).warnings, Lines{});
}

TEST(ResolveOptions, AnEmptyRoleIsARole) {
  EXPECT_EQ(torchrun({"--role", ""}).role, "");
  EXPECT_EQ(torchrun({}, {{"PET_ROLE", ""}}).role, "");
}

TEST(ResolveOptions, FlagsWithoutEffectAreNamedOnce) {
  EXPECT_EQ(
      torchrun({"--monitor-interval=5", "--start-method=fork", "--event-log-handler=x"},
               {{"MUSTER_LOGS_SPECS", "y"}})
          .warnings,
      (Lines{
          "--monitor-interval has no effect: a worker's end is noticed at once, nothing is polled",
          "--start-method has no effect: workers are always new processes",
          "--event-log-handler has no effect: event handlers are Python plug-ins of torchrun",
          "MUSTER_LOGS_SPECS has no effect: log layouts are Python plug-ins of torchrun"}));
  EXPECT_EQ(torchrun({"--event-log-handler=null"}).warnings, Lines{});
}

// So many restarts are told apart by their age.
TEST(ResolveOptions, AWindowOfRestartsHasALeastLengthAndAMostNumber) {
  EXPECT_EQ(muster({"--restart-window=1s", "--max-restarts=256"}).max_restarts, 256);
  EXPECT_EQ(refused({"--restart-window=0"}),
            "--restart-window '0': must be at least 1 s; without it all restarts count");
  EXPECT_EQ(refused({"--restart-window=1h", "--max-restarts=257"}),
            "--max-restarts '257': at most 256 with --restart-window");
}

// Explaining
TEST(ResolveOptions, EveryFlagIsExplainedInTheOrderOfTheTable) {
  const Options options = torchrun({"--max-restarts=1"}, {{"PET_TEE", "3"}, {"MUSTER_ROLE", "r"}});
  std::vector<std::string> flags;
  for (const FlagRow& row : flag_table()) {
    if (row.kind != FlagKind::kRequest && row.origin != Origin::kLaunch) {
      flags.push_back(long_name(row));
    }
  }
  ASSERT_EQ(options.explained.size(), flags.size());
  for (size_t i = 0; i < flags.size(); ++i) EXPECT_EQ(options.explained[i].flag, flags[i]);
  EXPECT_EQ(explained(options, "--max-restarts"), "1 (command line)");
  EXPECT_EQ(explained(options, "--tee"), "3 (PET_TEE)");
  EXPECT_EQ(explained(options, "--role"), "r (MUSTER_ROLE)");
  EXPECT_EQ(explained(options, "--no-python"), "false (default)");
  EXPECT_EQ(explained(options, "--log-level"), "warning (default)");
  EXPECT_EQ(explained(options, "--master-port"), " (one node)");
}

}  // namespace
}  // namespace muster::launcher
