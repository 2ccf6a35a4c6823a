#include "launcher/output.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <map>
#include <memory>

#include "tests/support/fake_clock.h"
#include "tests/support/fake_files.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::FakeFiles;
using muster::testing::TempDir;
using muster::testing::TestPipe;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

constexpr bool kOut = false;
constexpr bool kErr = true;

std::vector<WorkerLabel> workers(int count) {
  std::vector<WorkerLabel> labels;
  for (int i = 0; i < count; ++i) labels.push_back({10 + i, i, "trainer", "pod"});
  return labels;
}

class OutputTest : public ::testing::Test {
 protected:
  explicit OutputTest(int capacity_bytes = 0) : out_(capacity_bytes), err_(capacity_bytes) {
    files_.add_directory("/tmp");
    options_.run_id = "job";
    options_.prefix_template = "[${rank}] ";
  }

  void open(int count, int attempt = 0) {
    if (!output_) output_ = std::move(*Output::create(*loop_, files_, console_, options_));
    const Status opened = output_->open_attempt(attempt, workers(count));
    ASSERT_TRUE(opened) << opened.error().text;
    for (int i = 0; i < count; ++i) start(i);
  }
  // Takes the child's ends, as a worker does that is started.
  void start(int local_rank) {
    const ChildStreams streams = output_->child_streams(local_rank);
    for (const bool is_stderr : {kOut, kErr}) {
      const int fd = is_stderr ? streams.stderr_fd : streams.stdout_fd;
      if (fd < 0) continue;
      UniqueFd& end = child_ends_[{local_rank, is_stderr}];
      end = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    }
    output_->child_started(local_rank);
  }
  // Prints as a worker does; false when its pipe takes no more.
  bool print(int local_rank, std::string_view text, bool is_stderr = kOut) {
    const int fd = child_ends_.at({local_rank, is_stderr}).get();
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  void end(int local_rank) {
    child_ends_.erase({local_rank, kOut});
    child_ends_.erase({local_rank, kErr});
  }
  void settle() { ASSERT_TRUE(loop_->run_until_idle()); }
  std::string shown(bool is_stderr = kOut) {
    std::string all;
    for (;;) {
      settle();
      const std::string part = (is_stderr ? err_ : out_).read();
      if (part.empty()) return all;
      all += part;
    }
  }
  // The one folder of this run.
  std::string run_dir(const std::string& root) { return root + "/" + files_.list(root)->front(); }

  muster::testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TestPipe out_;
  TestPipe err_;
  Console console_{*loop_, out_.write_fd(), err_.write_fd()};
  FakeFiles files_;
  OutputOptions options_;
  CapturedLog log_;
  std::unique_ptr<Output> output_;
  std::map<std::pair<int, bool>, UniqueFd> child_ends_;
};

// Whoever reads the console has one page of room.
class SlowOutputTest : public OutputTest {
 protected:
  SlowOutputTest() : OutputTest(4096) {}
};

TEST_F(OutputTest, LinesOfAllRanksAreShownWithTheirPrefix) {
  open(2);
  print(0, "hello\nun");
  print(1, "hi\r\n");
  print(1, "oops\n", kErr);
  EXPECT_EQ(shown(), "[10] hello\n[11] hi\r\n");
  EXPECT_EQ(shown(kErr), "[11] oops\n");
  print(0, "finished\n");
  EXPECT_EQ(shown(), "[10] unfinished\n");
}

TEST_F(OutputTest, WhatAWorkerLeavesBehindIsShownAndItsUnfinishedLineIsItsOwn) {
  open(2);
  print(0, "line\nno newline");
  end(0);
  output_->drain(0);
  print(1, "other\n");
  EXPECT_EQ(shown(), "[10] line\n[10] no newline\n[11] other\n");
}

TEST_F(OutputTest, AGrandchildThatHoldsThePipeHoldsNothingElse) {
  open(1);
  print(0, "from the worker\n");
  output_->drain(0);  // its end stays open
  EXPECT_EQ(shown(), "[10] from the worker\n");
  print(0, "from the grandchild\nrest");
  EXPECT_EQ(shown(), "[10] from the grandchild\n");
  output_->close_attempt();
  EXPECT_EQ(shown(), "[10] rest");
  EXPECT_FALSE(print(0, "nobody listens\n"));
}

TEST_F(OutputTest, WithoutAPrefixLinesStayWhole) {
  options_.prefix_template.clear();
  open(2);
  print(0, "half ");
  print(1, "whole\n");
  settle();
  print(0, "line\n");
  EXPECT_EQ(shown(), "whole\nhalf line\n");
}

TEST_F(OutputTest, TheLastLinesAreThoseOfStderrElseOfStdout) {
  open(2);
  print(0, "out 1\nout 2\n");
  print(1, "out\n");
  print(1, "Traceback\nValueError: x\n", kErr);
  output_->drain(0);
  output_->drain(1);
  EXPECT_EQ(output_->last_lines(0), (Lines{"out 1", "out 2"}));
  EXPECT_EQ(output_->last_lines(1), (Lines{"Traceback", "ValueError: x"}));
  EXPECT_EQ(output_->last_lines(7), Lines{});
}

TEST_F(SlowOutputTest, LastLinesAreKnownEvenWhenNobodyReadsTheConsole) {
  open(1);
  out_.fill();
  const std::string noise(1000, 'x');
  while (print(0, noise + "\n")) settle();
  ASSERT_TRUE(print(0, "y"));  // the pipe is nearly full, and stays so
  end(0);
  output_->drain(0);
  EXPECT_EQ(output_->last_lines(0).back(), "y");
}

TEST_F(SlowOutputTest, AFloodingRankIsHeldBackAndAnotherGetsThrough) {
  open(3);
  std::string flood;
  for (int i = 0; i < 3000; ++i) flood += "flood flood flood\n";
  size_t flooded = 0;
  size_t read_until_seen = 0;
  std::string seen;
  const auto flood_all = [&] {
    for (const int rank : {0, 2}) {
      while (print(rank, flood.substr(0, 18 * 200))) flooded += 18 * 200;
      settle();
    }
  };
  for (int i = 0; i < 50; ++i) flood_all();
  EXPECT_FALSE(print(0, flood));  // back-pressure: its pipe is full and stays full
  print(1, "the quiet one\n");
  while (seen.find("[11] the quiet one\n") == std::string::npos && read_until_seen < 10'000'000) {
    settle();
    const std::string part = out_.read(4096);
    read_until_seen += part.size();
    seen += part;
    flood_all();
  }
  // Not before what was queued, but after one turn of the others at most.
  EXPECT_LT(read_until_seen, 2 * (kSinkQueueBytes + 3 * kReadBytes));
  EXPECT_GT(flooded, read_until_seen);
  EXPECT_EQ(console_.problems(), Lines{});
}

TEST_F(SlowOutputTest, OurOwnLinesGetThroughAFlood) {
  open(1);
  while (print(0, "flood\n")) settle();
  console_.write_agent_line("own\n");
  EXPECT_EQ(shown(kErr), "own\n");
}

TEST_F(SlowOutputTest, AfterAFloodEverythingWasShown) {
  open(2);
  std::map<int, int> next;
  std::string seen;
  for (int round = 0; round < 200; ++round) {
    for (const int rank : {0, 1}) {
      while (
          print(rank, "line " + std::to_string(next[rank]) + " " + std::string(200, '.') + "\n")) {
        ++next[rank];
      }
    }
    settle();
    seen += out_.read(3000);
  }
  for (const int rank : {0, 1}) {
    end(rank);
    output_->drain(rank);
  }
  output_->close_attempt();
  seen += shown();
  for (const int rank : {0, 1}) {
    size_t from = 0;
    for (int i = 0; i < next[rank]; ++i) {
      const std::string line = "[1" + std::to_string(rank) + "] line " + std::to_string(i) + " " +
                               std::string(200, '.') + "\n";
      from = seen.find(line, from);
      ASSERT_NE(from, std::string::npos) << rank << " " << i;
    }
  }
}

TEST_F(SlowOutputTest, AWorkerIsNeverHeldBackForEver) {
  open(1);
  while (print(0, "line\n")) settle();
  clock_.advance(kStalledAfter);
  settle();
  EXPECT_TRUE(print(0, "missed\n"));
  settle();
  EXPECT_EQ(log_.count("output.stalled"), 1u);
  const std::string seen = shown();
  EXPECT_EQ(seen.find("missed"), std::string::npos);
  EXPECT_EQ(log_.count("output.dropped"), 1u);
  print(0, "back\n");
  EXPECT_EQ(shown(), "[10] back\n");
}

TEST_F(SlowOutputTest, AHeldBackWorkerThatExitsCostsNoTurns) {
  open(1);
  while (print(0, "line\n")) settle();
  end(0);
  settle();  // ends only when the hang-up is not told for ever
  EXPECT_FALSE(console_.is_drained());
  shown();
  EXPECT_TRUE(console_.is_drained());
}

TEST_F(OutputTest, AReaderThatLeftDoesNotEndTheJob) {
  open(1);
  out_.close_reader();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(print(0, "line\n"));
    settle();
  }
  EXPECT_EQ(log_.count("output.failed"), 1u);
  EXPECT_EQ(console_.problems().size(), 1u);
}

TEST_F(OutputTest, TeedStreamsAreInFileAndConsole) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  open(1);
  print(0, "one\ntwo");
  print(0, "not in a file\n", kErr);
  end(0);
  output_->drain(0);
  output_->close_attempt();
  EXPECT_EQ(shown(), "[10] one\n[10] two");
  const std::string folder = run_dir("/logs") + "/attempt_0/0";
  EXPECT_EQ(files_.content(folder + "/stdout.log"), "one\ntwo");
  EXPECT_FALSE(files_.exists(folder + "/stderr.log"));
}

TEST_F(OutputTest, RedirectedStreamsAreWrittenByTheWorker) {
  options_.log_dir = "/logs";
  options_.redirects.by_local_rank[1] = {.out = true, .err = true};
  open(2);
  print(0, "shown\n");
  print(1, "only in the file\n");
  EXPECT_EQ(shown(), "[10] shown\n");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/1/stdout.log"), "only in the file\n");
}

TEST_F(OutputTest, LastLinesOfARedirectedStreamComeFromItsFile) {
  const TempDir directory;
  RealFiles files;
  options_.log_dir = directory.path();
  options_.redirects.otherwise = {.out = true, .err = true};
  output_ = std::move(*Output::create(*loop_, files, console_, options_));
  ASSERT_TRUE(output_->open_attempt(0, workers(1)));
  start(0);
  print(0, "one\ntwo\n");
  EXPECT_EQ(output_->last_lines(0), (Lines{"one", "two"}));
  print(0, "error\n", kErr);
  EXPECT_EQ(output_->last_lines(0), Lines{"error"});
}

TEST_F(OutputTest, OnlyTeedStreamsGetThePrefixWhenAskedSo) {
  options_.log_dir = "/logs";
  options_.prefix_tee_only = true;
  options_.prefix_template = "[${role_name}${local_rank}]:";
  options_.tee.by_local_rank[0] = {.out = true, .err = false};
  open(2);
  print(0, "teed\n");
  print(1, "plain\n");
  EXPECT_EQ(shown(), "[trainer0]:teed\nplain\n");
}

TEST_F(OutputTest, RanksThatAreNotShownKeepTheirTeeFiles) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  options_.local_ranks_filter = {1};
  open(2);
  print(0, "hidden\n");
  print(0, "nowhere\n", kErr);
  print(1, "shown\n");
  EXPECT_EQ(shown(), "[11] shown\n");
  EXPECT_EQ(shown(kErr), "");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/0/stdout.log"), "hidden\n");
}

TEST_F(OutputTest, FilteredLinesOfAllTeedRanksAreInOneFile) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = true};
  options_.stdout_filters = {"loss"};
  options_.stderr_filters = {"Error"};
  open(2);
  print(0, "loss 1\nnoise\n");
  print(0, "loss on stderr\n", kErr);
  settle();
  print(1, "loss 2\n");
  print(1, "ValueError\n", kErr);
  settle();
  const std::string folder = run_dir("/logs") + "/attempt_0";
  EXPECT_EQ(files_.content(folder + "/filtered_stdout.log"), "[10] loss 1\n[11] loss 2\n");
  EXPECT_EQ(files_.content(folder + "/filtered_stderr.log"), "[11] ValueError\n");
}

TEST_F(OutputTest, EveryAttemptHasItsOwnFilesAndPipes) {
  options_.log_dir = "/logs";
  options_.tee.otherwise = {.out = true, .err = false};
  open(1, 0);
  print(0, "first");
  child_ends_.clear();
  open(1, 1);
  print(0, "second\n");
  EXPECT_EQ(shown(), "[10] first\n[10] second\n");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_0/0/stdout.log"), "first");
  EXPECT_EQ(files_.content(run_dir("/logs") + "/attempt_1/0/stdout.log"), "second\n");
}

TEST_F(OutputTest, ErrorFilesHaveAFolderEvenWithoutLogs) {
  open(2);
  const std::string path = output_->error_file(1);
  EXPECT_TRUE(path.starts_with("/tmp/torchelastic_")) << path;
  EXPECT_TRUE(path.ends_with("/attempt_0/1/error.json")) << path;
  EXPECT_TRUE(files_.is_directory(path.substr(0, path.rfind('/'))));
}

TEST_F(OutputTest, TheNullDeviceAsLogDirectoryTurnsFilesOff) {
  options_.log_dir = "/dev/null";
  options_.tee.otherwise = {.out = true, .err = true};
  options_.redirects.otherwise = {.out = true, .err = true};
  options_.stdout_filters = {"x"};
  options_.prefix_tee_only = true;
  open(1);
  EXPECT_EQ(output_->error_file(0), "");
  print(0, "x\n");
  EXPECT_EQ(shown(), "x\n");
  EXPECT_EQ(files_.calls(), 0u);
}

TEST_F(OutputTest, ALogDirectoryThatCannotBeMadeIsAnErrorAtTheStart) {
  options_.log_dir = "/logs";
  files_.fail_path("/logs", EROFS);
  const auto created = Output::create(*loop_, files_, console_, options_);
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Code::kOs);
  EXPECT_NE(created.error().text.find("log directory: "), std::string::npos);
  EXPECT_NE(created.error().text.find("'/logs'"), std::string::npos);
}

TEST_F(OutputTest, WithoutATemporaryDirectoryTheJobGoesOnWithoutErrorFiles) {
  files_.remove("/tmp");
  files_.fail_nth_call(1, EROFS);
  open(1);
  EXPECT_EQ(output_->error_file(0), "");
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
  print(0, "x\n");
  EXPECT_EQ(shown(), "[10] x\n");
  child_ends_.clear();
  files_.fail_nth_call(1, EROFS);
  open(1, 1);
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
}

TEST_F(OutputTest, FilesThatFailLaterCostTheFilesOnly) {
  options_.log_dir = "/logs";
  options_.tee.by_local_rank[0] = {.out = true, .err = false};
  options_.redirects.by_local_rank[1] = {.out = true, .err = false};
  open(2, 0);
  child_ends_.clear();
  const std::string attempt = run_dir("/logs") + "/attempt_1";
  files_.fail_path(attempt + "/0/stdout.log", ENOSPC);
  files_.fail_path(attempt + "/1/stdout.log", ENOSPC);
  open(2, 1);
  EXPECT_EQ(log_.count("output.no_file"), 2u);
  print(0, "a\n");
  settle();
  print(1, "b\n");
  EXPECT_EQ(shown(), "[10] a\n[11] b\n");

  child_ends_.clear();
  files_.fail_path(run_dir("/logs") + "/attempt_2", ENOSPC);
  open(2, 2);
  EXPECT_EQ(log_.count("output.no_folders"), 1u);
  EXPECT_EQ(output_->error_file(0), "");
  print(1, "c\n");
  EXPECT_EQ(shown(), "[11] c\n");
}

TEST_F(OutputTest, AFileThatCannotBeCreatedInTheFirstAttemptIsAnError) {
  options_.log_dir = "/logs";
  options_.redirects.otherwise = {.out = true, .err = true};
  output_ = std::move(*Output::create(*loop_, files_, console_, options_));
  files_.fail_path(run_dir("/logs") + "/attempt_0/0/stderr.log", EACCES);
  const Status opened = output_->open_attempt(0, workers(1));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().os_errno, EACCES);
  EXPECT_TRUE(opened.error().text.starts_with("stderr of local rank 0: ")) << opened.error().text;
}

TEST_F(OutputTest, WithoutDescriptorsNothingIsLeftOpen) {
  output_ = std::move(*Output::create(*loop_, files_, console_, options_));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const UniqueFd probe(fcntl(0, F_DUPFD_CLOEXEC, 0));
  const auto next_fd = static_cast<rlim_t>(probe.get());
  const rlimit few{next_fd + 6, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  const Status opened = output_->open_attempt(0, workers(8));
  const Status again = output_->open_attempt(0, workers(1));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().os_errno, EMFILE);
  EXPECT_NE(opened.error().text.find("of local rank "), std::string::npos);
  EXPECT_TRUE(again) << again.error().text;
}

TEST_F(OutputTest, ATerminalIsInheritedWithoutPrefix) {
  const UniqueFd controller(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_EQ(grantpt(controller.get()), 0);
  ASSERT_EQ(unlockpt(controller.get()), 0);
  const UniqueFd terminal(::open(ptsname(controller.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.is_open());
  Console console(*loop_, terminal.get(), err_.write_fd());
  options_.prefix_template.clear();
  output_ = std::move(*Output::create(*loop_, files_, console, options_));
  ASSERT_TRUE(output_->open_attempt(0, workers(1)));
  const ChildStreams streams = output_->child_streams(0);
  EXPECT_EQ(streams.stdout_fd, -1);
  EXPECT_GE(streams.stderr_fd, 0);
  EXPECT_EQ(output_->last_lines(0), Lines{});
  output_.reset();  // before its console
}

TEST_F(OutputTest, StdoutAndStderrOnOnePipeShareOneOrder) {
  const UniqueFd duplicate(fcntl(out_.write_fd(), F_DUPFD_CLOEXEC, 0));
  Console console(*loop_, out_.write_fd(), duplicate.get());
  output_ = std::move(*Output::create(*loop_, files_, console, options_));
  ASSERT_TRUE(output_->open_attempt(0, workers(1)));
  start(0);
  print(0, "unfinished");
  end(0);
  output_->drain(0);
  console.write_agent_line("own\n");
  EXPECT_EQ(shown(), "[10] unfinished\nown\n");
  output_.reset();
}

TEST_F(OutputTest, FlushingIsDoneAtOnceWhenNothingWaits) {
  open(1);
  int done = 0;
  output_->flush(seconds(5), [&done] { ++done; });
  EXPECT_EQ(done, 0);
  settle();
  EXPECT_EQ(done, 1);
}

TEST_F(SlowOutputTest, FlushingWaitsForASlowReader) {
  open(1);
  out_.fill();
  print(0, "last words\n");
  output_->close_attempt();
  int done = 0;
  output_->flush(seconds(5), [&done] { ++done; });
  settle();
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(shown().ends_with("#[10] last words\n"));
  settle();
  EXPECT_EQ(done, 1);
  clock_.advance(seconds(5));
  settle();
  EXPECT_EQ(done, 1);
}

TEST_F(SlowOutputTest, FlushingEndsAtItsDeadlineAndCountsTheRest) {
  open(1);
  out_.fill();
  print(0, "last words\n");
  output_->close_attempt();
  int done = 0;
  output_->flush(seconds(5), [&done] { ++done; });
  settle();
  clock_.advance(seconds(5));
  settle();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(console_.problems(), Lines{"stdout: not read in time: 1 lines, 16 bytes lost"});
}

}  // namespace
}  // namespace muster::launcher
