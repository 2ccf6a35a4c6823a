#include "launcher/output/console.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::TestPipe;

class ConsoleTest : public ::testing::Test {
 protected:
  muster::testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
};

TEST_F(ConsoleTest, OurLinesGoToStderr) {
  TestPipe out;
  TestPipe err;
  Console console(*loop_, out.write_fd(), err.write_fd());
  console.write_agent_line("hello\n");
  EXPECT_EQ(err.read(), "hello\n");
  EXPECT_EQ(out.read(), "");
  EXPECT_TRUE(console.is_drained());
}

TEST_F(ConsoleTest, OnePipeForBothIsOneSink) {
  TestPipe both;
  const UniqueFd duplicate(fcntl(both.write_fd(), F_DUPFD_CLOEXEC, 0));
  Console console(*loop_, both.write_fd(), duplicate.get());
  EXPECT_EQ(&console.out(), &console.err());
  console.out().write(Source{0, false, ""}, "unfinished");
  ASSERT_TRUE(loop_->run_until_idle());
  console.write_agent_line("own\n");
  EXPECT_EQ(both.read(), "unfinished\nown\n");
}

TEST_F(ConsoleTest, StderrTellsThatStdoutIsGone) {
  TestPipe out;
  TestPipe err;
  Console console(*loop_, out.write_fd(), err.write_fd());
  const CapturedLog log([&console](std::string_view line) { console.write_agent_line(line); });
  out.close_reader();
  console.out().write(Source{0, false, ""}, "a\n");
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_NE(err.read().find("output.failed sink=stdout error=\"Broken pipe\""), std::string::npos);
  EXPECT_EQ(console.problems(),
            std::vector<std::string>{"stdout: Broken pipe: 1 line, 2 bytes lost"});
}

TEST_F(ConsoleTest, BothGoneEndsNothing) {
  TestPipe out;
  TestPipe err;
  Console console(*loop_, out.write_fd(), err.write_fd());
  const CapturedLog log([&console](std::string_view line) { console.write_agent_line(line); });
  out.close_reader();
  err.close_reader();
  console.out().write(Source{0, false, ""}, "a\n");
  console.err().write(Source{0, true, ""}, "b\n");
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_EQ(console.problems().size(), 2u);
  EXPECT_TRUE(console.is_drained());
}

TEST_F(ConsoleTest, AbandoningCountsWhatWaits) {
  TestPipe out(4096);
  TestPipe err;
  Console console(*loop_, out.write_fd(), err.write_fd());
  out.fill();
  console.out().write(Source{0, false, ""}, "a\n");
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_FALSE(console.is_drained());
  console.abandon();
  EXPECT_TRUE(console.is_drained());
  EXPECT_EQ(console.problems().size(), 1u);
}

TEST_F(ConsoleTest, WhatCannotBeReopenedWorksAllTheSame) {
  TestPipe out;
  TestPipe err;
  Console console(*loop_, out.write_fd(), err.write_fd(), false);
  const std::string line(100'000, 'x');
  console.out().write(Source{0, false, "[0] "}, line + "\n");
  std::string seen;
  for (;;) {
    ASSERT_TRUE(loop_->run_until_idle());
    const std::string part = out.read();
    if (part.empty()) break;
    seen += part;
  }
  EXPECT_EQ(seen, "[0] " + line + "\n");
}

}  // namespace
}  // namespace muster::launcher
