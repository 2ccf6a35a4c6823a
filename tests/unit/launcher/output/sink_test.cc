#include "launcher/output/sink.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <memory>

#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::TestPipe;

const Source kFromZero{0, false, "[0] "};
const Source kFromOne{1, false, "[1] "};
const Source kUnmarkedZero{0, false, ""};
const Source kUnmarkedOne{1, false, ""};

class SinkTest : public ::testing::Test {
 protected:
  explicit SinkTest(int capacity_bytes = 0) : pipe_(capacity_bytes) {}
  void settle() { ASSERT_TRUE(loop_->run_until_idle()); }
  std::string shown() {
    EXPECT_TRUE(loop_->run_until_idle());
    return pipe_.read();
  }
  // Reads and writes in turn until nothing more comes.
  std::string shown_to_the_end() {
    std::string all;
    for (std::string part = shown(); !part.empty(); part = shown()) all += part;
    return all;
  }

  muster::testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  TestPipe pipe_;
  Sink sink_{*loop_, ConsoleFd(pipe_.write_fd()), "stdout"};
  CapturedLog log_;
};

// The reader's pipe holds one page.
class SlowSinkTest : public SinkTest {
 protected:
  SlowSinkTest() : SinkTest(4096) {}
  void stall() {
    for (int i = 0; i < 60; ++i) sink_.write(kFromZero, std::string(99, 'a') + "\n");
    settle();
    clock_.advance(kStalledAfter);
    settle();
  }
};

TEST_F(SinkTest, EveryLineGetsThePrefixOfItsWriter) {
  sink_.write(kFromZero, "a\n");
  sink_.write(kFromOne, "b\n");
  sink_.write(kFromZero, "\n");
  EXPECT_EQ(shown(), "[0] a\n[1] b\n[0] \n");
  EXPECT_TRUE(sink_.is_drained());
}

TEST_F(SinkTest, NothingIsWrittenBeforeTheEndOfTheTurn) {
  sink_.write(kFromZero, "a\n");
  EXPECT_EQ(pipe_.read(), "");
  EXPECT_EQ(shown(), "[0] a\n");
}

TEST_F(SinkTest, OurOwnLineIsWrittenAtOnceAndNeverWithinALine) {
  sink_.write_own_line("own 1\n");
  EXPECT_EQ(pipe_.read(), "own 1\n");
  sink_.write(kUnmarkedZero, "unfinished");
  settle();
  sink_.write_own_line("own 2\n");
  sink_.write(kUnmarkedZero, "more\n");
  EXPECT_EQ(shown(), "unfinished\nown 2\nmore\n");
}

TEST_F(SlowSinkTest, OurOwnLinesOvertakeWhatWaitsAtTheNextEndOfALine) {
  const size_t filled = pipe_.fill();
  sink_.write(kFromZero, "a\n");
  sink_.write(kFromOne, "b\n");
  settle();
  sink_.write_own_line("own 1\n");
  sink_.write_own_line("own 2\n");
  settle();
  EXPECT_EQ(shown_to_the_end(), std::string(filled, '#') + "own 1\nown 2\n[0] a\n[1] b\n");
}

TEST_F(SlowSinkTest, OurOwnLineWaitsForTheEndOfTheLineThatIsBeingWritten) {
  const std::string line(2 * pipe_.capacity(), 'x');
  sink_.write(kFromZero, line + "\n");
  sink_.write(kFromOne, "b\n");
  settle();
  sink_.write_own_line("own 1\n");
  sink_.write_own_line("own 2\n");
  EXPECT_EQ(shown_to_the_end(), "[0] " + line + "\nown 1\nown 2\n[1] b\n");
}

TEST_F(SlowSinkTest, ASlowReaderGetsEverythingAndWritersAreHeldBack) {
  std::string expected;
  while (sink_.has_room()) {
    const std::string line(500, static_cast<char>('a' + expected.size() % 26));
    sink_.write(kFromZero, line + "\n");
    expected += "[0] " + line + "\n";
  }
  EXPECT_FALSE(sink_.is_drained());
  int changes = 0;
  sink_.set_listener([&changes] { ++changes; });
  std::string seen;
  for (std::string part = shown(); !part.empty(); part = shown()) {
    seen += part;
    clock_.advance(kStalledAfter / 2);  // slow, but not gone
  }
  EXPECT_EQ(seen, expected);
  EXPECT_TRUE(sink_.has_room());
  EXPECT_GT(changes, 0);
  EXPECT_EQ(sink_.problem(), "");
  EXPECT_EQ(log_.text(), "");
}

TEST_F(SlowSinkTest, AReaderThatIsGoneHoldsNobodyBackAndIsToldWhatItMissed) {
  stall();
  EXPECT_EQ(log_.count("output.stalled"), 1u);
  EXPECT_TRUE(sink_.has_room());
  for (int i = 0; i < 3; ++i) sink_.write(kFromZero, "missed\n");
  sink_.write(kUnmarkedOne, "missed\nmissed too\n");
  EXPECT_NE(sink_.problem().find("5 lines, 39 bytes lost"), std::string::npos) << sink_.problem();
  EXPECT_EQ(log_.count("output.dropped"), 0u);

  const std::string seen = shown_to_the_end();
  EXPECT_EQ(seen.size(), 60u * (99 + 5));  // what waited before is whole
  EXPECT_EQ(log_.count("output.dropped"), 1u);
  EXPECT_NE(log_.text().find("rank 0: 3 lines, 21 bytes; rank 1: 2 lines, 18 bytes"),
            std::string::npos)
      << log_.text();
  sink_.write(kFromZero, "back\n");
  EXPECT_EQ(shown(), "[0] back\n");
}

TEST_F(SlowSinkTest, TheListenerIsCalledWhenTheReaderIsGivenUp) {
  int changes = 0;
  stall();  // once without, to get through all states
  shown_to_the_end();
  sink_.set_listener([&changes] { ++changes; });
  pipe_.fill();
  sink_.write(kFromZero, "x\n");
  settle();
  const int before = changes;
  clock_.advance(kStalledAfter);
  settle();
  EXPECT_EQ(changes, before + 1);
}

TEST_F(SlowSinkTest, AStallIsToldOnceHoweverLongItLasts) {
  const CapturedLog to_sink([this](std::string_view line) { sink_.write_own_line(line); });
  stall();
  for (int i = 0; i < 3; ++i) {
    clock_.advance(kStalledAfter);
    sink_.write_own_line("own\n");
    sink_.write(kFromZero, "missed\n");
    settle();
  }
  EXPECT_EQ(to_sink.count("output.stalled"), 1u);
  shown_to_the_end();
  stall();  // and again when it happens again
  EXPECT_EQ(to_sink.count("output.stalled"), 2u);
}

TEST_F(SlowSinkTest, ALineWhoseRestWasDroppedIsNotContinuedByTheNext) {
  pipe_.fill();
  sink_.write(kFromZero, "piece of a very long line");
  settle();
  clock_.advance(kStalledAfter);
  settle();
  sink_.write(kFromZero, "its rest\n");
  shown_to_the_end();
  sink_.write(kFromZero, "next\n");
  EXPECT_EQ(shown(), "\n[0] next\n");
}

TEST_F(SlowSinkTest, ManyRanksAreSummedUpInTheReport) {
  stall();
  for (int rank = 0; rank < 12; ++rank) sink_.write(Source{rank, false, "p"}, "x\n");
  shown_to_the_end();
  EXPECT_NE(log_.text().find("rank 7: 1 line, 2 bytes; others: 4 lines, 8 bytes"),
            std::string::npos)
      << log_.text();
}

TEST_F(SlowSinkTest, OurOwnLinesAreBoundedToo) {
  pipe_.fill();
  const std::string line(64 * 1024, 'o');
  for (int i = 0; i < 40; ++i) sink_.write_own_line(line + "\n");
  EXPECT_NE(sink_.problem().find("lines"), std::string::npos);
  const std::string seen = shown_to_the_end();
  EXPECT_GE(seen.size(), kOwnLinesBytes);
  EXPECT_LE(seen.size(), kOwnLinesBytes + 2 * line.size() + pipe_.capacity());
}

TEST_F(SinkTest, AReaderThatLeftIsReportedOnceAndWhatFollowsIsCounted) {
  pipe_.close_reader();
  sink_.write(kFromZero, "a\n");
  settle();
  sink_.write(kFromOne, "b\n");
  settle();
  EXPECT_EQ(log_.count("output.failed"), 1u);
  EXPECT_TRUE(sink_.has_room());
  EXPECT_TRUE(sink_.is_drained());
  EXPECT_EQ(sink_.problem(), "stdout: Broken pipe: 2 lines, 8 bytes lost");
}

TEST_F(SlowSinkTest, AReaderThatLeavesWhileLinesWaitIsNoticed) {
  pipe_.fill();
  sink_.write(kFromZero, "a\n");
  settle();
  pipe_.close_reader();
  settle();
  EXPECT_EQ(log_.count("output.failed"), 1u);
}

TEST_F(SlowSinkTest, WhatIsGivenUpAtTheEndIsCounted) {
  pipe_.fill();
  sink_.write(kFromZero, "a\n");
  settle();
  sink_.abandon();
  EXPECT_TRUE(sink_.is_drained());
  EXPECT_EQ(sink_.problem(), "stdout: not read in time: 1 line, 6 bytes lost");
}

TEST_F(SinkTest, AFullDiskIsReportedOnceAndTriedAgain) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  Sink sink(*loop_, ConsoleFd(full.get()), "stdout");
  for (int i = 0; i < 3; ++i) {
    sink.write(kFromZero, "a\n");
    settle();
  }
  EXPECT_EQ(log_.count("output.full"), 1u);
  EXPECT_EQ(log_.count("output.failed"), 0u);
  EXPECT_EQ(sink.problem(), "stdout: No space left on device: 3 lines, 18 bytes lost");
}

TEST_F(SinkTest, AfterADiskWasFullForAWhileTheNextLineIsWhole) {
  // A file that may not grow beyond 8 bytes takes the place of the disk.
  const muster::testing::TempDir directory;
  const std::string path = directory.path() + "/log";
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  Sink sink(*loop_, ConsoleFd(file.get()), "stdout");
  (void)signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{8, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  sink.write(kFromZero, "cut in two\n");
  settle();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  sink.write(kFromZero, "whole\n");
  settle();
  EXPECT_EQ(muster::testing::content_of(path), "[0] cut \n[0] whole\n");
  EXPECT_EQ(sink.problem(), "stdout: File too large: 1 line, 7 bytes lost");
}

TEST_F(SinkTest, AClosedDescriptorIsReportedWithTheFirstLine) {
  Sink sink(*loop_, ConsoleFd(-1), "stderr");
  EXPECT_EQ(sink.problem(), "");
  sink.write_own_line("x\n");
  EXPECT_EQ(sink.problem(), "stderr: Bad file descriptor: 1 line, 2 bytes lost");
}

TEST_F(SlowSinkTest, TheReportOfDroppedLinesMayGoToTheSinkItself) {
  const CapturedLog to_sink([this](std::string_view line) { sink_.write_own_line(line); });
  stall();
  sink_.write(kFromOne, "missed\n");
  const std::string seen = shown_to_the_end();
  EXPECT_NE(seen.find("output.stalled"), std::string::npos);
  EXPECT_NE(seen.find("rank 1: 1 line, 7 bytes"), std::string::npos);
}

TEST_F(SinkTest, AFailingSinkThatIsAlsoTheLogDoesNotCallItselfForEver) {
  const CapturedLog to_sink([this](std::string_view line) { sink_.write_own_line(line); });
  pipe_.close_reader();
  sink_.write(kFromZero, "a\n");
  settle();
  EXPECT_EQ(to_sink.count("output.failed"), 1u);
}

}  // namespace
}  // namespace muster::launcher
