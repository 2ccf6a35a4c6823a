#include "base/process/own_child.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <optional>

namespace muster {
namespace {

using namespace std::chrono_literals;

// A shell stands for this program.
class OwnChildTest : public ::testing::Test {
 protected:
  ~OwnChildTest() override {
    child_.cancel();
    while (waitpid(-1, nullptr, 0) > 0) continue;
  }
  Status ask(const std::string& script, Duration limit) {
    OwnCall call{.binary = "/bin/sh", .words = {"-c", script}, .environment = {}, .limit = limit};
    sigemptyset(&call.signal_mask);
    return child_.ask(call, [this](Result<std::string> answer) {
      answer_ = std::move(answer);
      loop_->stop();
    });
  }

  SystemClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  RealProcessHost processes_;
  OwnChild child_{*loop_, processes_};
  std::optional<Result<std::string>> answer_;
};

TEST_F(OwnChildTest, WhatItPrintsIsTheAnswer) {
  ASSERT_TRUE(ask("echo one; echo $0 two", 1min));
  ASSERT_TRUE(loop_->run());
  ASSERT_TRUE(answer_ && *answer_);
  EXPECT_EQ(**answer_, "one\nmuster two\n");
}

TEST_F(OwnChildTest, OneThatHangsIsKilledInTime) {
  ASSERT_TRUE(ask("exec sleep 1000", 20ms));
  ASSERT_TRUE(loop_->run());
  ASSERT_TRUE(answer_ && !*answer_);
  EXPECT_EQ(answer_->error().code, Code::kTimeout);
  int status = 0;
  ASSERT_GT(waitpid(-1, &status, 0), 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(OwnChildTest, TooMuchIsNoAnswer) {
  ASSERT_TRUE(ask("exec cat /dev/zero", 1min));
  ASSERT_TRUE(loop_->run());
  ASSERT_TRUE(answer_ && !*answer_);
  EXPECT_EQ(answer_->error().code, Code::kLimit);
}

TEST_F(OwnChildTest, NobodyIsToldAfterCancel) {
  ASSERT_TRUE(ask("exec sleep 1000", 1min));
  child_.cancel();
  int status = 0;
  ASSERT_GT(waitpid(-1, &status, 0), 0);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  ASSERT_TRUE(loop_->run_until_idle());
  EXPECT_FALSE(answer_);
}

TEST_F(OwnChildTest, AProgramThatIsNotThereIsAnError) {
  const OwnCall call{.binary = "/no/such", .words = {}, .environment = {}, .limit = 1min};
  EXPECT_FALSE(child_.ask(call, [](const Result<std::string>&) { FAIL(); }));
}

}  // namespace
}  // namespace muster
