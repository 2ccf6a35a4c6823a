// The layout of torchrun's failure report, compared with what torchrun 2.13 printed for the same
// ends (tests/data/reports/torchrun-2.13).
#include "launcher/report/torchrun_report.h"

#include <gtest/gtest.h>

#include "launcher/report/error_file.h"
#include "tests/support/test_data.h"

namespace muster::launcher {
namespace {

using elastic::FailureClass;
using elastic::FailureRecord;
using muster::testing::read_test_data;
using std::chrono::seconds;

FailureRecord record_of(int rank, pid_t pid, ExitStatus status, FailureClass failure_class,
                        WallTime time) {
  FailureRecord record;
  record.rank = rank;
  record.local_rank = rank;
  record.node = "node-0";
  record.pid = pid;
  record.status = status;
  record.failure_class = failure_class;
  record.noticed = TimePoint(seconds(100));
  record.noticed_wall = time;
  record.alive = seconds(2);
  return record;
}

// Two workers: rank 1 ended by itself, then rank 0 was stopped.
RunReport report_of(const FailureRecord& first, pid_t pid_of_rank_0) {
  RunReport report;
  report.entry_point = "train.py";
  report.records = {first, record_of(0, pid_of_rank_0, {.signal = SIGTERM}, FailureClass::kStopped,
                                     first.noticed_wall)};
  return report;
}

// `second` of 2026-11-21 14:52 UTC, when the texts were recorded.
WallTime recorded_at(int second) { return WallTime(seconds(1'795'272'720 + second)); }

TEST(TorchrunReport, TellsAnExceptionAsTorchrunDoes) {
  FailureRecord first = record_of(1, 9738, {.code = 1}, FailureClass::kUserError, recorded_at(27));
  first.error_file = parse_error_file("/logs/job7_d4kd3n9e/attempt_0/1/error.json",
                                      read_test_data("error_files/2.13/value_error.json"));
  EXPECT_EQ(torchrun_report(report_of(first, 9737)),
            read_test_data("reports/torchrun-2.13/exception.txt"));
}

TEST(TorchrunReport, TellsASignalAsTorchrunDoes) {
  const FailureRecord first =
      record_of(1, 9870, {.signal = SIGKILL}, FailureClass::kKilled, recorded_at(40));
  EXPECT_EQ(torchrun_report(report_of(first, 9869)),
            read_test_data("reports/torchrun-2.13/signal.txt"));
}

TEST(TorchrunReport, TellsAnExitCodeAsTorchrunDoes) {
  const FailureRecord first =
      record_of(1, 9848, {.code = 3}, FailureClass::kUserError, recorded_at(35));
  EXPECT_EQ(torchrun_report(report_of(first, 9847)),
            read_test_data("reports/torchrun-2.13/exit_code.txt"));
}

TEST(TorchrunReport, SaysWhenThereIsNoOtherFailure) {
  RunReport report;
  report.entry_point = "train.py";
  report.records = {
      record_of(0, 7, {}, FailureClass::kSuccess, recorded_at(1)),
      record_of(1, 8, {.code = 2}, FailureClass::kUserError, recorded_at(2)),
      record_of(2, 9, {}, FailureClass::kStopped, recorded_at(3)),
  };
  const std::string text = torchrun_report(report);
  EXPECT_NE(text.find("Failures:\n  <NO_OTHER_FAILURES>\n---"), std::string::npos) << text;
  EXPECT_NE(text.find("first observed failure):\n[0]:\n"), std::string::npos) << text;
}

TEST(TorchrunReport, NumbersWorkersInTheOrderOfTheirEnd) {
  RunReport report;
  report.records = {record_of(0, 7, {.code = 1}, FailureClass::kUserError, recorded_at(1)),
                    record_of(1, 8, {.code = 1}, FailureClass::kUserError, recorded_at(1))};
  report.records[1].noticed -= seconds(1);
  const std::string text = torchrun_report(report);
  EXPECT_LT(text.find("[0]:"), text.find("Root Cause")) << text;
  EXPECT_GT(text.find("[1]:"), text.find("Root Cause")) << text;
}

TEST(TorchrunReport, AddsOurWordsWhereTorchrunHasNone) {
  RunReport report;
  FailureRecord record =
      record_of(0, 7, {.signal = SIGKILL}, FailureClass::kOutOfMemory, recorded_at(1));
  record.reason = "SIGKILL (out of memory)";
  report.records = {record};
  EXPECT_NE(torchrun_report(report).find(
                "traceback : Signal 9 (SIGKILL) received by PID 7: SIGKILL (out of memory)\n"),
            std::string::npos);
  report.records[0] = record_of(0, 0, {.code = 127}, FailureClass::kInfrastructure, recorded_at(1));
  report.records[0].reason = "could not be started: No such file or directory";
  EXPECT_NE(torchrun_report(report).find("traceback : could not be started: No such file"),
            std::string::npos);
}

TEST(TorchrunReport, GarbageInTheErrorFileLeavesTheReportWhole) {
  RunReport report;
  FailureRecord record = record_of(0, 7, {.code = 1}, FailureClass::kUserError, recorded_at(1));
  record.error_file = parse_error_file("/e.json", "garbage");
  report.records = {record};
  const std::string text = torchrun_report(report);
  EXPECT_NE(text.find("error_file: /e.json\n  traceback : To enable traceback"), std::string::npos)
      << text;
}

TEST(TorchrunReport, IsEmptyWithoutAFailure) {
  RunReport report;
  report.records = {record_of(0, 7, {.signal = SIGTERM}, FailureClass::kStopped, recorded_at(1))};
  EXPECT_EQ(torchrun_report(report), "");
  EXPECT_EQ(torchrun_report(RunReport{}), "");
}

}  // namespace
}  // namespace muster::launcher
