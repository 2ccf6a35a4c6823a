// What a user reads after a failed run. Long texts are files in tests/data/reports/muster.
#include "launcher/report/failure_report.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/log.h"
#include "launcher/report/error_file.h"
#include "launcher/report/termination_log.h"
#include "tests/support/test_data.h"

namespace muster::launcher {
namespace {

using elastic::FailureRecord;
using elastic::Observation;
using muster::testing::read_test_data;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Ended `at` after the start of the attempt, which was at 2026-11-21T14:52:25Z.
FailureRecord record_of(int rank, Duration at, const Observation& seen) {
  const elastic::Classified classified = elastic::classify(seen);
  FailureRecord record;
  record.rank = rank;
  record.local_rank = rank;
  record.node = "node-0";
  record.pid = 100 + rank;
  record.status = seen.status;
  record.failure_class = classified.failure_class;
  record.reason = classified.reason;
  record.noticed = TimePoint(seconds(100)) + at;
  record.noticed_wall = WallTime(seconds(1'795'272'745)) + at;
  record.alive = at;
  return record;
}

FailureRecord stopped(int rank) {
  return record_of(rank, milliseconds(2'700),
                   {.status = {.signal = SIGTERM}, .stop_signal = SIGTERM});
}

// Four ranks of which rank 1 failed.
RunReport report_of(const FailureRecord& first) {
  RunReport report;
  report.entry_point = "train.py";
  report.records = {first, stopped(0), stopped(2), stopped(3)};
  report.world_size = 4;
  report.max_restarts = 0;
  report.verdict = "no restarts allowed (--max-restarts 0)";
  report.log_dir = "/logs/job7_d4kd3n9e/attempt_0";
  return report;
}

FailureRecord exception() {
  FailureRecord record = record_of(1, milliseconds(2'653), {.status = {.code = 1}});
  record.error_file = parse_error_file("/logs/job7_d4kd3n9e/attempt_0/1/error.json",
                                       read_test_data("error_files/2.13/value_error.json"));
  record.last_lines = {"not shown: the traceback is better"};
  return record;
}

std::string last_line(const std::string& text) {
  const size_t end = text.size() - 1;
  return text.substr(text.rfind('\n', end - 1) + 1);
}

TEST(ReportSummary, ShowsAnExceptionWithItsTraceback) {
  EXPECT_EQ(report_summary(report_of(exception())), read_test_data("reports/muster/exception.txt"));
}

TEST(ReportSummary, ShowsLastLinesAndLaterFailuresOfARunWithRestarts) {
  FailureRecord first =
      record_of(1, seconds(12), {.status = {.signal = SIGKILL}, .out_of_memory = true});
  first.last_lines = {"step 118 loss 0.31", "step 119 loss 0.30"};
  first.attempt = 3;
  RunReport report = report_of(first);
  report.records[1] =
      record_of(0, milliseconds(12'200), {.status = {.code = 1}, .stop_signal = SIGTERM});
  report.max_restarts = 3;
  report.verdict = "all 3 restarts used";
  EXPECT_EQ(report_summary(report), read_test_data("reports/muster/out_of_memory.txt"));
}

TEST(ReportSummary, ShowsAStartThatFailed) {
  FailureRecord first = record_of(0, Duration::zero(), {.spawn_errno = ENOENT});
  first.pid = 0;
  RunReport report = report_of(first);
  report.records = {first};
  report.log_dir = "";
  report.verdict = "not restarted: the same start would fail again";
  EXPECT_EQ(report_summary(report), read_test_data("reports/muster/start_failure.txt"));
}

TEST(ReportSummary, EndsWithTheLineForGrep) {
  const RunReport report = report_of(exception());
  EXPECT_EQ(last_line(report_summary(report)), report_line(report) + "\n");
}

TEST(ReportSummary, IsOneLineWhenEveryoneStoppedAsAsked) {
  RunReport report = report_of(stopped(1));
  report.stop_signal = SIGTERM;
  EXPECT_EQ(report_summary(report), report_line(report) + "\n");
}

TEST(ReportSummary, OfASignalledRunShowsTheWorkerThatDidNotStopCleanly) {
  RunReport report =
      report_of(record_of(1, seconds(2), {.status = {.signal = SIGSEGV}, .stop_signal = SIGTERM}));
  report.stop_signal = SIGTERM;
  report.verdict = "";
  EXPECT_EQ(report_summary(report), read_test_data("reports/muster/signalled.txt"));
}

TEST(ReportSummary, SaysWhyAnErrorFileCannotBeUsed) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  first.error_file = parse_error_file("/logs/1/error.json", "{garbage");
  EXPECT_NE(report_summary(report_of(first))
                .find("  error file  /logs/1/error.json cannot be used: not valid JSON\n"),
            std::string::npos);
}

TEST(ReportSummary, ShowsTheEndOfALongTracebackAndSaysSo) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  for (int i = 1; i <= 100; ++i) first.last_lines.push_back("line " + std::to_string(i));
  const std::string text = report_summary(report_of(first));
  EXPECT_NE(text.find("  last lines  (the last 30)\n    line 71\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    line 100\n"), std::string::npos);
  EXPECT_EQ(text.find("line 70\n"), std::string::npos);
}

TEST(ReportSummary, StaysShortHoweverManyRanksFailAndHoweverLongTheirLines) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  first.last_lines.assign(1000, std::string(1'000, 'x'));
  RunReport report = report_of(first);
  report.records.clear();
  report.records.push_back(first);
  for (int rank = 2; rank < 200; ++rank) {
    report.records.push_back(record_of(rank, seconds(3), {.status = {.code = 1}}));
    report.records.push_back(stopped(rank + 1000));
  }
  const std::string text = report_summary(report);
  EXPECT_LT(text.size(), 20'000u);
  EXPECT_NE(text.find("  also failed 190 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("198 ranks because of it: 1002, 1003"), std::string::npos) << text;
}

TEST(ReportSummary, OfAnotherNodesFailureIsShorterAndSaysWhereItsFilesAre) {
  FailureRecord first = record_of(5, seconds(2), {.status = {.code = 1}});
  first.node = "node-1";
  first.logs = "/logs/job_node-1_x/attempt_0/5";
  for (int line = 0; line < 50; ++line) first.last_lines.push_back(std::to_string(line));
  RunReport report = report_of(first);
  report.records = {first, stopped(0)};
  report.first_is_known = report.elsewhere = true;
  const std::string text = report_summary(report);
  EXPECT_NE(text.find("  logs        /logs/job_node-1_x/attempt_0/5 on node-1\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("    39\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    40\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  stopped     rank 0 because of it\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("/5 on node-1\n")) << text;
}

TEST(ReportLine, SaysThatACrashLoopEndedTheJob) {
  RunReport report = report_of(record_of(1, seconds(2), {.status = {.code = 3}}));
  report.verdict = "crash loop: the same failure 3 times without progress";
  EXPECT_NE(report_line(report).find("; " + report.verdict + "; 3 other ranks stopped"),
            std::string::npos)
      << report_line(report);
}

TEST(EndReason, IsTheCauseInShort) {
  RunReport report = report_of(record_of(1, seconds(2), {.status = {.code = 3}}));
  EXPECT_EQ(end_reason(report), "rank 1 on node-0 failed first: exit code 3 (user error)");
  report.verdict = "crash loop: the same failure 3 times without progress";
  EXPECT_EQ(end_reason(report),
            "rank 1 on node-0 failed first: exit code 3 (user error); " + report.verdict);
  report.stop_signal = SIGTERM;
  EXPECT_TRUE(end_reason(report).starts_with("stopped by SIGTERM after")) << end_reason(report);
  RunReport nobody;
  nobody.end_reason = "no leader within 10 min";
  EXPECT_EQ(end_reason(nobody), "no leader within 10 min");
}

TEST(ReportLine, NamesRankNodeCauseAgeAndAttempt) {
  RunReport report = report_of(record_of(1, milliseconds(12'345), {.status = {.code = 3}}));
  report.log_dir = "";
  EXPECT_EQ(report_line(report),
            "muster: rank 1 on node-0 failed first: exit code 3 (user error) after 12.3 s in "
            "attempt 0; 3 other ranks stopped");
}

TEST(ReportLine, CarriesTheFirstLineOfTheErrorMessage) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  first.error_file = parse_error_file("/e.json", read_test_data("error_files/1.13/chained.json"));
  RunReport report = report_of(first);
  report.records = {first};
  EXPECT_EQ(
      report_line(report),
      "muster: rank 1 on node-0 failed first: exit code 1 (user error) after 2 s in attempt 0: "
      "RuntimeError: bad configuration; logs in /logs/job7_d4kd3n9e/attempt_0");
}

TEST(ReportLine, IsOneLineOfPlainTextWhateverTheMessageHolds) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  first.error_file.emplace().message = "\x1b[31mred\r\nsecond " + std::string(10'000, 'x');
  const std::string line = report_line(report_of(first));
  EXPECT_EQ(line.find_first_of("\x1b\r\n"), std::string::npos);
  EXPECT_LT(line.size(), 1000u);
}

TEST(ReportLine, ASignalledRunHasNoFirstFailure) {
  RunReport report =
      report_of(record_of(1, seconds(40), {.status = {.code = 1}, .stop_signal = SIGTERM}));
  report.records[3] =
      record_of(3, seconds(42),
                {.status = {.signal = SIGKILL}, .stop_signal = SIGTERM, .killed_by_agent = true});
  report.stop_signal = SIGTERM;
  report.log_dir = "";
  EXPECT_EQ(report_line(report),
            "muster: stopped by SIGTERM after 42 s in attempt 0: 2 ranks ended as asked, 1 had to "
            "be killed, 1 failed (rank 1: exit code 1 (user error))");
}

TEST(ReportLine, ASignalBeforeAnyWorkerSaysSo) {
  RunReport report;
  report.stop_signal = SIGINT;
  EXPECT_EQ(report_line(report), "muster: stopped by SIGINT: no worker was running");
}

TEST(TerminationMessage, BeginsWithTheLineAndShowsTheTraceback) {
  EXPECT_EQ(termination_message(report_of(exception())),
            read_test_data("reports/muster/exception.termination.txt"));
}

TEST(TerminationMessage, KeepsTheLastLinesThatFit) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  for (int i = 1; i <= 1000; ++i) {
    first.last_lines.push_back(std::string(190, 'x') + " line " + std::to_string(i));
  }
  const RunReport report = report_of(first);
  const std::string message = termination_message(report);
  EXPECT_LE(message.size(), kMaxTerminationBytes);
  EXPECT_GT(message.size(), kMaxTerminationBytes - 210);
  EXPECT_TRUE(message.starts_with(report_line(report) + "\n"));
  EXPECT_TRUE(message.ends_with("x line 1000\n"));
}

TEST(TerminationMessage, SaysWhyAnErrorFileCannotBeUsed) {
  FailureRecord first = record_of(1, seconds(2), {.status = {.code = 1}});
  first.error_file = parse_error_file("/e.json", "");
  EXPECT_TRUE(
      termination_message(report_of(first)).ends_with("/e.json cannot be used: it is empty\n"));
}

TEST(TerminationMessage, NeverCutsACharacterAtItsLimit) {
  RunReport report = report_of(record_of(1, seconds(2), {.status = {.code = 1}}));
  for (size_t extra = 0; extra < 3; ++extra) {
    report.log_dir = std::string(extra, 'x');
    for (int i = 0; i < 2000; ++i) report.log_dir += "\xe2\x9c\x93";
    const std::string message = termination_message(report);
    EXPECT_LE(message.size(), kMaxTerminationBytes);
    EXPECT_TRUE(message.ends_with("\xe2\x9c\x93"));
  }
}

class LogWorkerExitTest : public ::testing::Test {
 protected:
  LogWorkerExitTest() {
    log::set_sink([this](std::string_view line) { log_ += line; });
  }
  ~LogWorkerExitTest() override { log::set_sink({}); }
  // Without the time.
  std::string logged(const FailureRecord& record) {
    log_worker_exit(record, 7);
    return log_.substr(log_.find(' ') + 1);
  }
  std::string log_;
};

TEST_F(LogWorkerExitTest, TellsAFailureAtLevelError) {
  EXPECT_EQ(logged(exception()),
            "E worker.exit rank=1 local_rank=1 node=node-0 pid=101 code=1 class=\"user error\" "
            "reason=\"exit code 1 (user error): ValueError: no shard at /data/shard-0003: "
            "gr\xc3\xb6\xc3\x9f"
            "e = 0 \xe2\x9c\x93\" alive_s=2.653 attempt=0 round=7\n");
}

TEST_F(LogWorkerExitTest, TellsAStoppedWorkerAtLevelInfo) {
  EXPECT_EQ(logged(stopped(2)),
            "I worker.exit rank=2 local_rank=2 node=node-0 pid=102 signal=SIGTERM class=stopped "
            "reason=\"SIGTERM (stopped by muster)\" alive_s=2.700 attempt=0 round=7\n");
}

// The report shows the last lines to people, so the text above has none.
TEST_F(LogWorkerExitTest, TellsProgramsTheLastLinesOfAFailure) {
  log::set_format(log::Format::kJson);
  FailureRecord failure = exception();
  failure.error_file.reset();
  failure.last_lines = {"loading", "no shard"};
  log_worker_exit(failure, 1);
  log_worker_exit(stopped(2), 1);
  log::set_format(log::Format::kText);
  EXPECT_NE(log_.find(R"("last_lines":["loading","no shard"])"), std::string::npos) << log_;
  EXPECT_NE(log_.find(R"("last_lines":[])"), std::string::npos) << log_;
}

}  // namespace
}  // namespace muster::launcher
