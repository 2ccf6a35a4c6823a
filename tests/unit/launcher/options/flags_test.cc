// The grammar of the command line and of the environment, without the meaning of values. Where
// torchrun is named, the expectation was checked against argparse of torch.distributed.run 2.13.
#include "launcher/options/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::launcher {
namespace {

using Words = std::vector<std::string>;
using Variables = std::vector<std::pair<std::string, std::string>>;

Environment environment_of(const Variables& variables) {
  Environment environment;
  for (const auto& [name, value] : variables) environment.set(name, value);
  return environment;
}

// "--redirects=3 -> s.py [a]", or the error's line.
std::string scanned(const Words& words, Dialect dialect = Dialect::kTorchrun) {
  const auto raw = scan_flags(dialect, words, Environment());
  if (!raw) return raw.error().code == Code::kUsage ? raw.error().text : "not a usage error";
  std::string text;
  for (const auto& [flag, value] : raw->given) {
    text += long_name(row_of(flag)) + "=" + value.text + " ";
  }
  if (raw->request)
    text += long_name(row_of(raw->request->flag)) + "(" + raw->request->argument + ") ";
  text += "->";
  if (raw->program) text += " " + *raw->program;
  for (const std::string& argument : raw->arguments) text += " [" + argument + "]";
  return text;
}

// What one flag got from the environment: "value from NAME", "nothing", or the error's line.
std::string from_variables(Flag flag, const Variables& variables,
                           Dialect dialect = Dialect::kTorchrun) {
  const auto raw = scan_flags(dialect, Words{"s.py"}, environment_of(variables));
  if (!raw) return raw.error().text;
  const GivenValue* value = raw->find(flag);
  if (value == nullptr) return "nothing";
  EXPECT_EQ(value->kind, SourceKind::kEnvironment);
  return "'" + value->text + "' from " + value->source;
}

struct Case {
  Words words;
  const char* expected;
};

TEST(Flags, ValuesMayBeTheNextWordOrGlued) {
  const Case cases[] = {
      {{"--nnodes", "2", "s.py"}, "--nnodes=2 -> s.py"},
      {{"--nnodes=2", "s.py"}, "--nnodes=2 -> s.py"},
      {{"--role=", "s.py"}, "--role= -> s.py"},
      {{"--role", "", "s.py"}, "--role= -> s.py"},
      {{"--role=a=b", "s.py"}, "--role=a=b -> s.py"},
      {{"--role=-x", "s.py"}, "--role=-x -> s.py"},
      {{"-r", "3", "s.py"}, "--redirects=3 -> s.py"},
      {{"-r3", "s.py"}, "--redirects=3 -> s.py"},
      {{"-r=3", "s.py"}, "--redirects=3 -> s.py"},
      {{"-r0:1,1:2", "s.py"}, "--redirects=0:1,1:2 -> s.py"},
      {{"-tee", "s.py"}, "--tee=ee -> s.py"},
      {{"-m", "pkg.mod"}, "--module=true -> pkg.mod"},
      {{"-mr3", "pkg.mod"}, "--module=true --redirects=3 -> pkg.mod"},
      {{"-mr", "3", "pkg.mod"}, "--module=true --redirects=3 -> pkg.mod"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, BothSpellingsAndUniquePrefixesMeanTheSameFlag) {
  const Case cases[] = {
      {{"--nproc-per-node", "2", "s.py"}, "--nproc-per-node=2 -> s.py"},
      {{"--nproc_per_node=2", "s.py"}, "--nproc-per-node=2 -> s.py"},
      {{"--nproc_per-node", "2", "s.py"}, "--nproc-per-node=2 -> s.py"},
      {{"--nproc", "2", "s.py"}, "--nproc-per-node=2 -> s.py"},
      {{"--stand", "s.py"}, "--standalone=true -> s.py"},
      {{"--max-r", "1", "s.py"}, "--max-restarts=1 -> s.py"},
      {{"--rdzv_e=h:1", "s.py"}, "--rdzv-endpoint=h:1 -> s.py"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, EveryFlagIsAcceptedInBothSpellings) {
  for (const FlagRow& row : flag_table()) {
    if (row.kind == FlagKind::kRequest) continue;
    std::string underscored(row.name);
    for (char& c : underscored) c = c == '-' ? '_' : c;
    const std::string value = row.kind == FlagKind::kSwitch ? "true" : "x";
    const std::string expected = long_name(row) + "=" + value + " -> s.py";
    EXPECT_EQ(scanned({long_name(row) + "=" + value, "s.py"}, Dialect::kLaunch), expected);
    EXPECT_EQ(scanned({"--" + underscored + "=" + value, "s.py"}, Dialect::kLaunch), expected);
  }
}

TEST(Flags, WordsThatArgparseTakesAsValuesAreValues) {
  const Case cases[] = {
      {{"--max-restarts", "-1", "s.py"}, "--max-restarts=-1 -> s.py"},
      {{"--role", "-", "s.py"}, "--role=- -> s.py"},
      {{"--role", "- x", "s.py"}, "--role=- x -> s.py"},
      {{"--role", "-x", "s.py"}, "flag '--role' needs a value, but '-x' follows"},
      {{"--role", "--tee=a b", "s.py"}, "flag '--role' needs a value, but '--tee=a b' follows"},
      {{"--role", "--zo=a b", "s.py"}, "--role=--zo=a b -> s.py"},
      {{"--role", "--", "s.py"}, "flag '--role' needs a value, but '--' follows"},
      {{"--nnodes"}, "flag '--nnodes' needs a value"},
      {{"-r"}, "flag '-r' needs a value"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
  // A time below zero is one to its flag, which says that there is no such.
  EXPECT_EQ(scanned({"--replace-wait", "-1s", "s.py"}, Dialect::kMuster),
            "--replace-wait=-1s -> s.py");
}

TEST(Flags, OptionsEndAtTheFirstPositional) {
  const Case cases[] = {
      {{"s.py", "--nnodes", "2"}, "-> s.py [--nnodes] [2]"},
      {{"s.py", "-m", "--unknown", "-r3"}, "-> s.py [-m] [--unknown] [-r3]"},
      {{"s.py", "--r=1"}, "-> s.py [--r=1]"},  // torchrun: ambiguous option
      {{"--standalone", "s.py", ""}, "--standalone=true -> s.py []"},
      {{"-", "a"}, "-> - [a]"},
      {{"", "a"}, "->  [a]"},
      {{}, "->"},
      {{"--standalone"}, "--standalone=true ->"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, ADashThatIsNoMinusIsToldOf) {
  const Environment none;
  for (const char* word : {"\u2013nproc-per-node", "\u2014standalone", "\u2212m"}) {
    const Words words = {word, "s.py"};
    const auto raw = scan_flags(Dialect::kTorchrun, words, none);
    ASSERT_FALSE(raw) << word;
    EXPECT_EQ(raw.error().code, Code::kUsage);
    EXPECT_NE(raw.error().text.find("another character than '-'"), std::string::npos);
  }
  const Case cases[] = {
      {{"--", "\u2013x"}, "-> \u2013x"},
      {{"s.py", "\u2013x"}, "-> s.py [\u2013x]"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, ExactlyOneSeparatorIsDropped) {
  const Case cases[] = {
      {{"--", "s.py", "a"}, "-> s.py [a]"},
      {{"s.py", "--", "a"}, "-> s.py [a]"},
      {{"s.py", "--", "--", "a"}, "-> s.py [--] [a]"},
      {{"--", "s.py", "--", "a"}, "-> s.py [--] [a]"},
      {{"s.py", "a", "--", "b"}, "-> s.py [a] [--] [b]"},
      {{"--", "--nnodes", "2"}, "-> --nnodes [2]"},
      {{"--standalone", "--", "s.py"}, "--standalone=true -> s.py"},
      {{"--"}, "->"},
      {{"s.py", "--"}, "-> s.py"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, TheLastOfRepeatedFlagsWins) {
  EXPECT_EQ(scanned({"--nnodes=1", "--nnodes", "2", "--nnodes=3", "s.py"}), "--nnodes=3 -> s.py");
  EXPECT_EQ(scanned({"-r1", "--redirects=2", "s.py"}), "--redirects=2 -> s.py");
  EXPECT_EQ(scanned({"--standalone", "--standalone=0", "s.py"}), "--standalone=false -> s.py");
}

TEST(Flags, SwitchesMayBeGivenAsTrueOrFalse) {
  EXPECT_EQ(scanned({"--standalone=TRUE", "s.py"}), "--standalone=true -> s.py");
  EXPECT_EQ(scanned({"-m=0", "s.py"}), "--module=false -> s.py");
  EXPECT_EQ(scanned({"--standalone=maybe", "s.py"}),
            "flag '--standalone' is a switch: 'maybe' is neither true nor false");
  EXPECT_EQ(scanned({"--standalone=", "s.py"}),
            "flag '--standalone' is a switch: '' is neither true nor false");
}

TEST(Flags, UnknownFlagsAreNamedWithTheNearestOne) {
  const Case cases[] = {
      {{"--nproc-per-nodes", "2", "s.py"},
       "unknown flag '--nproc-per-nodes', did you mean '--nproc-per-node'?"},
      {{"--nproc-per-nodes=2", "s.py"},
       "unknown flag '--nproc-per-nodes', did you mean '--nproc-per-node'?"},
      {{"--rdzv", "x", "s.py"},
       "flag '--rdzv' is ambiguous: --rdzv-id, --rdzv-backend, --rdzv-endpoint, --rdzv-conf"},
      {{"--gpus", "2", "s.py"}, "unknown flag '--gpus'"},
      {{"--nnodes 2", "s.py"}, "unknown flag '--nnodes 2', did you mean '--nnodes'?"},
      {{"-x", "s.py"}, "unknown flag '-x'"},
      {{"-nnodes", "2", "s.py"}, "unknown flag '-nnodes', did you mean '--nnodes'?"},
      {{"-nnodes=2", "s.py"}, "unknown flag '-nnodes=2', did you mean '--nnodes'?"},
      {{"-master-port", "1", "s.py"}, "unknown flag '-master-port', did you mean '--master-port'?"},
      {{"-5", "s.py"}, "unknown flag '-5'"},
      {{"-mx", "s.py"}, "unknown flag '-mx'"},
      {{"--use-env", "s.py"}, "unknown flag '--use-env'"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, ARequestEndsTheScan) {
  const Case cases[] = {
      {{"--help", "--nonsense"}, "--help() ->"},
      {{"-h"}, "--help() ->"},
      {{"-mh", "x"}, "--module=true --help() ->"},
      {{"--help=markdown"}, "--help(markdown) ->"},
      {{"--version"}, "--version() ->"},
      {{"--print-completion", "bash"}, "--print-completion(bash) ->"},
      {{"--print-completion"}, "flag '--print-completion' needs a value"},
      {{"s.py", "--help"}, "-> s.py [--help]"},
  };
  for (const Case& c : cases) EXPECT_EQ(scanned(c.words), c.expected);
}

TEST(Flags, ARequestIsAnsweredWhateverTheEnvironmentHolds) {
  const auto raw = scan_flags(Dialect::kTorchrun, Words{"--help"},
                              environment_of({{"PET_STANDALONE", "maybe"}}));
  ASSERT_TRUE(raw);
  EXPECT_TRUE(raw->request);
}

TEST(Flags, EveryVariableOfEveryFlagIsRead) {
  for (const FlagRow& row : flag_table()) {
    if (row.kind == FlagKind::kRequest) continue;
    const bool is_switch = row.kind == FlagKind::kSwitch;
    for (const std::string& name :
         {muster_variable(row), torchrun_variable(row), std::string(row.other_variable),
          std::string(row.foreign.variable)}) {
      if (name.empty()) continue;
      EXPECT_EQ(from_variables(row.flag(), {{name, is_switch ? "1" : "x"}}, Dialect::kLaunch),
                (is_switch ? "'true' from " : "'x' from ") + name);
    }
  }
}

TEST(Flags, TheVariableNamesAreTheseAndNoOthers) {
  const std::pair<const char*, Flag> names[] = {
      {"PET_NNODES", flag::kNnodes},
      {"PET_NPROC_PER_NODE", flag::kNprocPerNode},
      {"PET_RDZV_BACKEND", flag::kRdzvBackend},
      {"PET_RDZV_ENDPOINT", flag::kRdzvEndpoint},
      {"PET_RDZV_ID", flag::kRdzvId},
      {"PET_RDZV_CONF", flag::kRdzvConf},
      {"PET_MAX_RESTARTS", flag::kMaxRestarts},
      {"PET_MONITOR_INTERVAL", Flag("monitor-interval")},
      {"PET_START_METHOD", Flag("start-method")},
      {"PET_EVENT_LOG_HANDLER", Flag("event-log-handler")},
      {"PET_ROLE", Flag("role")},
      {"PET_LOG_DIR", flag::kLogDir},
      {"PET_REDIRECTS", flag::kRedirects},
      {"PET_TEE", flag::kTee},
      {"PET_LOG_LINE_PREFIX_TEMPLATE", flag::kLogLinePrefixTemplate},
      {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", flag::kLogLinePrefixTemplate},
      {"PET_LOCAL_RANKS_FILTER", flag::kLocalRanksFilter},
      {"PET_DUPLICATE_STDOUT_FILTERS", flag::kDuplicateStdoutFilters},
      {"PET_DUPLICATE_STDERR_FILTERS", flag::kDuplicateStderrFilters},
      {"PET_NODE_RANK", flag::kNodeRank},
      {"PET_MASTER_ADDR", flag::kMasterAddr},
      {"PET_MASTER_PORT", flag::kMasterPort},
      {"PET_LOCAL_ADDR", flag::kLocalAddr},
      {"PET_SIGNALS_TO_HANDLE", flag::kSignalsToHandle},
      {"PET_SHUTDOWN_TIMEOUT", flag::kShutdownTimeout},
      {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", flag::kShutdownTimeout},
      {"MUSTER_GRACE_PERIOD", flag::kGracePeriod},
      {"MUSTER_RESTART_BACKOFF", Flag("restart-backoff")},
      {"MUSTER_TERMINATION_LOG", Flag("termination-log")},
      {"MUSTER_LOG_LEVEL", Flag("log-level")},
      {"LOGLEVEL", Flag("log-level")},
      {"MUSTER_LOG_FORMAT", Flag("log-format")},
      {"MUSTER_LOGS_SPECS", Flag("logs-specs")},
      {"MUSTER_NUMA_BINDING", Flag("numa-binding")},
  };
  for (const auto& [name, flag] : names) {
    EXPECT_EQ(from_variables(flag, {{name, "x"}}), "'x' from " + std::string(name));
  }
  EXPECT_EQ(from_variables(Flag("numa-binding"), {{"PET_NUMA_BINDING", "x"}}), "nothing");
  EXPECT_EQ(from_variables(Flag("logs-specs"), {{"PET_LOGS_SPECS", "x"}}), "nothing");
  EXPECT_EQ(from_variables(flag::kGracePeriod, {{"PET_GRACE_PERIOD", "x"}}), "nothing");
}

TEST(Flags, SwitchesInTheEnvironmentAreTrueWhenEmpty) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "'true' from PET_STANDALONE"},
      {"1", "'true' from PET_STANDALONE"},
      {"0", "'false' from PET_STANDALONE"},
      {"true", "'true' from PET_STANDALONE"},
      {"False", "'false' from PET_STANDALONE"},
      {" 1\n", "'true' from PET_STANDALONE"},
      {"maybe", "PET_STANDALONE 'maybe': neither 1 nor 0"},
      {"2", "PET_STANDALONE '2': neither 1 nor 0"},
  };
  for (const auto& [value, expected] : cases) {
    EXPECT_EQ(from_variables(flag::kStandalone, {{"PET_STANDALONE", value}}), expected);
  }
}

TEST(Flags, AnEmptyVariableIsUnsetExceptForTheRole) {
  EXPECT_EQ(from_variables(flag::kNnodes, {{"PET_NNODES", ""}}), "nothing");
  EXPECT_EQ(from_variables(flag::kRdzvId, {{"PET_RDZV_ID", ""}}), "nothing");
  EXPECT_EQ(from_variables(Flag("role"), {{"PET_ROLE", ""}}), "'' from PET_ROLE");
  EXPECT_EQ(from_variables(flag::kNnodes, {{"MUSTER_NNODES", ""}, {"PET_NNODES", "2"}}),
            "'2' from PET_NNODES");
}

TEST(Flags, WhatKubernetesSaysOfAServiceIsUnset) {
  const std::pair<std::string, std::string> host{"MUSTER_MASTER_SERVICE_HOST", "10.96.0.7"};
  const std::pair<std::string, std::string> port{"MUSTER_MASTER_PORT", "tcp://10.96.0.7:29400"};
  EXPECT_EQ(from_variables(flag::kMasterPort, {host, port}), "nothing");
  // There is no such Service: somebody meant it. And one who sets it beside a Service is heard.
  EXPECT_EQ(from_variables(flag::kMasterPort, {port}),
            "'tcp://10.96.0.7:29400' from MUSTER_MASTER_PORT");
  EXPECT_EQ(from_variables(flag::kMasterPort, {host, {"MUSTER_MASTER_PORT", "29500"}}),
            "'29500' from MUSTER_MASTER_PORT");
}

TEST(Flags, TheCommandLineBeatsMustersVariableBeatsTorchruns) {
  const Variables both = {{"MUSTER_SHUTDOWN_TIMEOUT", "1"},
                          {"PET_SHUTDOWN_TIMEOUT", "2"},
                          {"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", "3"}};
  EXPECT_EQ(from_variables(flag::kShutdownTimeout, both), "'1' from MUSTER_SHUTDOWN_TIMEOUT");
  EXPECT_EQ(from_variables(flag::kShutdownTimeout, {both[1], both[2]}),
            "'2' from PET_SHUTDOWN_TIMEOUT");
  const auto raw =
      scan_flags(Dialect::kTorchrun, Words{"--shutdown-timeout=0", "s.py"}, environment_of(both));
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->find(flag::kShutdownTimeout)->text, "0");
  EXPECT_EQ(raw->find(flag::kShutdownTimeout)->source, "command line");
  EXPECT_EQ(raw->find(flag::kShutdownTimeout)->kind, SourceKind::kCommandLine);
}

TEST(Flags, BooleansAreReadInAnyCase) {
  for (const char* text : {"1", "true", "TRUE", "t", "Yes", "y", "on"}) {
    EXPECT_EQ(parse_boolean(text), true) << text;
  }
  for (const char* text : {"0", "false", "False", "f", "NO", "n", "off"}) {
    EXPECT_EQ(parse_boolean(text), false) << text;
  }
  for (const char* text : {"", "2", "tru", " 1", "null"}) {
    EXPECT_EQ(parse_boolean(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace muster::launcher
