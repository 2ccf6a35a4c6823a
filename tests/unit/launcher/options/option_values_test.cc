// The grammar of each flag's value.
#include "launcher/options/option_values.h"

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "launcher/options/flag_table.h"
#include "tests/support/complaints.h"

namespace muster::launcher {
namespace {

using muster::testing::complaint;
using muster::testing::Wrong;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What the row of that flag makes of a value.
Result<Options> filled(std::string_view flag, std::string_view text) {
  Options options;
  const Status status = row_of(Flag(flag)).into.fill(options, text);
  if (!status) return Error(status.error());
  return options;
}

TEST(OptionValues, NodeRangesAreOneNumberOrTwo) {
  const auto range = parse_node_range("2:4");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->min, 2);
  EXPECT_EQ(range->max, 4);
  EXPECT_EQ(parse_node_range(" 3 ")->min, 3);
  EXPECT_EQ(parse_node_range("3")->max, 3);
  EXPECT_EQ(parse_node_range("1:65536")->max, kMaxNodes);
  const Wrong wrong[] = {
      {"", "neither N nor MIN:MAX"},
      {"x", "neither N nor MIN:MAX"},
      {"1:2:3", "neither N nor MIN:MAX"},
      {"1:", "neither N nor MIN:MAX"},
      {":2", "neither N nor MIN:MAX"},
      {"1.5", "neither N nor MIN:MAX"},
      {"0", "the smallest number of nodes is 1"},
      {"0:2", "the smallest number of nodes is 1"},
      {"-1", "the smallest number of nodes is 1"},
      {"4:2", "MIN is larger than MAX"},
      {"1:65537", "more than 65536 nodes"},
  };
  for (const Wrong& c : wrong)
    EXPECT_EQ(complaint(parse_node_range(c.text)), c.complaint) << c.text;
}

TEST(OptionValues, PreemptionNamesASignalAndWhoIsTold) {
  EXPECT_EQ(*parse_handled_signal("USR1"), SIGUSR1);
  EXPECT_EQ(*parse_handled_signal(" SIGTERM "), SIGTERM);
  for (const char* text : {"", "KILL", "NOPE", "0"}) {
    EXPECT_EQ(complaint(parse_handled_signal(text)), "not a signal that a process can handle")
        << text;
  }
  EXPECT_TRUE(filled("preempt-notify", "all")->nodes.preempt_notify_all);
  EXPECT_FALSE(filled("preempt-notify", "leaver")->nodes.preempt_notify_all);
  EXPECT_EQ(complaint(filled("preempt-notify", "")), "none of leaver, all");
}

TEST(OptionValues, WorkerCountsAreNumbersOrKindsOfDevice) {
  EXPECT_EQ(parse_worker_count("8")->number, 8);
  EXPECT_EQ(parse_worker_count("8")->kind, WorkerCountKind::kNumber);
  EXPECT_EQ(parse_worker_count("auto")->kind, WorkerCountKind::kAuto);
  EXPECT_EQ(parse_worker_count("cpu")->kind, WorkerCountKind::kCpu);
  EXPECT_EQ(parse_worker_count("gpu")->kind, WorkerCountKind::kGpu);
  EXPECT_EQ(parse_worker_count("xpu")->kind, WorkerCountKind::kXpu);
  EXPECT_EQ(parse_worker_count("4096")->number, kMaxWorkersPerNode);
  const Wrong wrong[] = {
      {"", "neither a number nor auto, cpu, gpu or xpu"},
      {"npu", "neither a number nor auto, cpu, gpu or xpu"},
      {"GPU", "neither a number nor auto, cpu, gpu or xpu"},
      {"1.5", "neither a number nor auto, cpu, gpu or xpu"},
      {"0", "the smallest number of workers is 1"},
      {"-2", "the smallest number of workers is 1"},
      {"4097", "more than 4096 workers"},
  };
  for (const Wrong& c : wrong) {
    EXPECT_EQ(complaint(parse_worker_count(c.text)), c.complaint) << c.text;
  }
}

TEST(OptionValues, NamesComeFromClosedLists) {
  EXPECT_EQ(filled("rdzv-backend", "static")->backend, RendezvousBackend::kStatic);
  EXPECT_EQ(filled("rdzv-backend", "c10d")->backend, RendezvousBackend::kC10d);
  EXPECT_EQ(filled("rdzv-backend", "etcd")->backend, RendezvousBackend::kEtcd);
  EXPECT_EQ(filled("rdzv-backend", "etcd-v2")->backend, RendezvousBackend::kEtcd);
  EXPECT_EQ(complaint(filled("rdzv-backend", "C10D")), "none of static, c10d, etcd, etcd-v2");
  EXPECT_EQ(filled("numa-binding", "node")->numa_binding, NumaBinding::kNode);
  EXPECT_EQ(filled("numa-binding", "socket")->numa_binding, NumaBinding::kSocket);
  EXPECT_EQ(filled("numa-binding", "exclusive")->numa_binding, NumaBinding::kExclusive);
  EXPECT_EQ(filled("numa-binding", "core-complex")->numa_binding, NumaBinding::kCoreComplex);
  EXPECT_EQ(complaint(filled("numa-binding", "no")),
            "none of node, socket, exclusive, core-complex");
  EXPECT_EQ(filled("log-format", "json")->log_format, "json");
  EXPECT_EQ(complaint(filled("log-format", "xml")), "none of text, json");
  EXPECT_TRUE(filled("start-method", "forkserver"));
  EXPECT_EQ(complaint(filled("start-method", "thread")), "none of spawn, fork, forkserver");
}

TEST(OptionValues, LogLevelsAreSpelledInOneWay) {
  EXPECT_EQ(*parse_log_level("DEBUG"), "debug");
  EXPECT_EQ(*parse_log_level("info"), "info");
  EXPECT_EQ(*parse_log_level("WARN"), "warning");
  EXPECT_EQ(*parse_log_level("Critical"), "error");
  EXPECT_EQ(*parse_log_level("off"), "off");
  EXPECT_EQ(complaint(parse_log_level("loud")), "none of debug, info, warning, error, off");
}

constexpr Streams kNone{false, false};
constexpr Streams kOut{true, false};
constexpr Streams kErr{false, true};
constexpr Streams kBoth{true, true};

TEST(OptionValues, AMaskHoldsForAllRanksOrForThoseListed) {
  EXPECT_EQ(parse_streams("0")->of(0), kNone);
  EXPECT_EQ(parse_streams("1")->of(5), kOut);
  EXPECT_EQ(parse_streams("2")->of(5), kErr);
  EXPECT_EQ(parse_streams("3")->of(5), kBoth);
  const auto streams = parse_streams("0:1,1:3,10:2,0:0");
  ASSERT_TRUE(streams);
  EXPECT_EQ(streams->of(0), kNone);
  EXPECT_EQ(streams->of(1), kBoth);
  EXPECT_EQ(streams->of(2), kNone);
  EXPECT_EQ(streams->of(10), kErr);
}

TEST(OptionValues, WrongMasksAreExplained) {
  constexpr const char* kMask = "a mask is 0, 1, 2 or 3, or RANK:MASK,...";
  const Wrong wrong[] = {
      {"", kMask},
      {"4", kMask},
      {"33", kMask},
      {"1,2", kMask},
      {"0:", kMask},
      {"0:4", kMask},
      {"0:1,1", kMask},
      {"0:1,", "'' is not a local rank (0 to 4095)"},
      {":1", "'' is not a local rank (0 to 4095)"},
      {"-1:1", "'-1' is not a local rank (0 to 4095)"},
      {"4096:1", "'4096' is not a local rank (0 to 4095)"},
      {"0:1:2", kMask},
  };
  for (const Wrong& c : wrong) EXPECT_EQ(complaint(parse_streams(c.text)), c.complaint) << c.text;
}

TEST(OptionValues, LocalRanksStandBetweenCommas) {
  EXPECT_EQ(*parse_local_ranks("0,2, 10"), (std::vector<int>{0, 2, 10}));
  EXPECT_TRUE(parse_local_ranks("")->empty());
  EXPECT_EQ(complaint(parse_local_ranks("0,")), "'' is not a local rank (0 to 4095)");
  EXPECT_EQ(complaint(parse_local_ranks("-1")), "'-1' is not a local rank (0 to 4095)");
}

TEST(OptionValues, ADoubledCommaIsAComma) {
  const std::pair<const char*, std::vector<std::string>> cases[] = {
      {"", {}},
      {"a", {"a"}},
      {"a,b", {"a", "b"}},
      {"a,,b", {"a,b"}},
      {"a,,,b", {"a,", "b"}},
      {",,", {","}},
      {",a,", {"a"}},
      {"a b,c ", {"a b", "c "}},
  };
  for (const auto& [text, words] : cases) EXPECT_EQ(*parse_filters(text), words) << text;
}

TEST(OptionValues, SignalsThatNobodyCanHandleAreListedAsUnknown) {
  const auto list = parse_signals("SIGTERM, INT,1,SIGTERM,SIGFOO,KILL,SIGSEGV,");
  EXPECT_EQ(list.signals, (std::vector<int>{SIGTERM, SIGINT, SIGHUP}));
  EXPECT_EQ(list.unknown, (std::vector<std::string>{"SIGFOO", "KILL", "SIGSEGV"}));
  EXPECT_TRUE(parse_signals("").signals.empty());
}

TEST(OptionValues, ANodesNameIsOneLine) {
  EXPECT_EQ(*parse_node_name(""), "");
  EXPECT_EQ(*parse_node_name("Knoten \u00e4 1"), "Knoten \u00e4 1");
  for (const char* text : {"a\nb", "\x1b[1m", "a\x7f"})
    EXPECT_EQ(complaint(parse_node_name(text)), "a control character is in it") << text;
}

TEST(OptionValues, NumbersHaveTheirRanges) {
  EXPECT_EQ(*parse_port("0"), 0);
  EXPECT_EQ(*parse_port(" 65535\n"), 65535);
  EXPECT_EQ(complaint(parse_port("65536")), "not a port (0 to 65535)");
  EXPECT_EQ(*parse_count("0"), 0);
  EXPECT_EQ(*parse_count("2147483647"), 2147483647);
  for (const char* text : {"-1", "2147483648", "x", "", "1.0"}) {
    EXPECT_EQ(complaint(parse_count(text)), "not a whole number from 0 to 2147483647") << text;
  }
  EXPECT_TRUE(filled("monitor-interval", "0.1"));
  for (const char* text : {"0", "-1", "x", "", "inf"}) {
    EXPECT_EQ(complaint(filled("monitor-interval", text)), "not a number of seconds above 0")
        << text;
  }
}

TEST(OptionValues, TimesHaveUnitsAndRanges) {
  EXPECT_EQ(*parse_grace_period("30"), seconds(30));
  EXPECT_EQ(*parse_grace_period("1.5s"), milliseconds(1500));
  EXPECT_EQ(*parse_grace_period("0"), seconds(0));
  EXPECT_EQ(*parse_grace_period("5m"), kMaxGracePeriod);
  for (const char* text : {"-1", "301", "300.1s", "1h", "x", ""}) {
    EXPECT_EQ(complaint(parse_grace_period(text)), "not a time from 0 to 5m (30, 1.5s, 500ms, 5m)");
  }
  EXPECT_EQ(*parse_shutdown_timeout("86400"), std::chrono::hours(24));
  for (const char* text : {"-1", "86401", "1.5", "30s", ""}) {
    EXPECT_EQ(complaint(parse_shutdown_timeout(text)),
              "not a whole number of seconds from 0 to 86400");
  }
  EXPECT_EQ(*parse_pause("500ms"), milliseconds(500));
  EXPECT_EQ(complaint(parse_pause("-1")), "not a time (5, 1.5s, 500ms, 5m)");
}

}  // namespace
}  // namespace muster::launcher
