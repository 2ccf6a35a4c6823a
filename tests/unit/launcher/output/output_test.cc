#include "launcher/output/output.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <map>

#include "tests/support/output_rig.h"

namespace muster::launcher {
namespace {

using muster::testing::kErr;
using muster::testing::OutputTest;
using muster::testing::SlowOutputTest;
using muster::testing::workers;
using std::chrono::seconds;
using Lines = std::vector<std::string>;

// Fills a queue and a pipe in few turns: each takes a millisecond, and ten seconds are a stall.
const std::string kLongLine = std::string(1999, 'x') + "\n";

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

TEST_F(OutputTest, AFloodOfSingleLinesIsTakenInPieces) {
  open(1);
  for (int i = 0; i < kReadsPerRest; ++i) {
    print(0, "a\n");
    ASSERT_TRUE(loop_->run_until_idle());
  }
  EXPECT_EQ(out_.read(), "[10] a\n[10] a\n[10] a\n[10] a\n");
  print(0, "b\n");
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(out_.read(), "");
  print(0, "c\n");
  clock_.advance(kRest);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(out_.read(), "[10] b\n[10] c\n");
  clock_.advance(kRest);  // nothing came meanwhile: the rest is over
  ASSERT_TRUE(loop_->run_until_idle());
  print(0, "d\n");
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(out_.read(), "[10] d\n");
}

TEST_F(OutputTest, WhatARestingStreamHoldsIsThereWhenItsWorkerEnds) {
  open(1);
  for (int i = 0; i <= kReadsPerRest; ++i) {
    print(0, "a\n");
    ASSERT_TRUE(loop_->run_until_idle());
  }
  EXPECT_EQ(out_.read().size(), kReadsPerRest * std::string_view("[10] a\n").size());
  end(0);
  output_->drain(0);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(out_.read(), "[10] a\n");
}

TEST_F(SlowOutputTest, OurOwnLinesGetThroughAFlood) {
  open(1);
  while (print(0, kLongLine)) settle();
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
  while (print(0, kLongLine)) settle();
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
  while (print(0, kLongLine)) settle();
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
  EXPECT_EQ(console_.problems(), Lines{"stdout: not read in time: 1 line, 16 bytes lost"});
}

}  // namespace
}  // namespace muster::launcher
