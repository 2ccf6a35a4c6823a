// The sockets of workers, with real ones, and when what they say is told.
#include "launcher/progress/progress_watch.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>

#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using muster::testing::CapturedLog;
using muster::testing::FakeClock;
using muster::testing::TempDir;

class ProgressWatchTest : public ::testing::Test {
 protected:
  ProgressWatchTest() : loop_(*Loop::create(clock_)), folder_(temp_.path() + "/own") {
    log::set_recorder([this](const log::Event& event) {
      std::string line(event.name);
      for (const log::Field& field : event.fields)
        if (!field.value.empty()) line += " " + std::string(field.key) + "=" + log::json_of(field);
      recorded_.push_back(std::move(line));
    });
  }
  ~ProgressWatchTest() override { log::set_recorder({}); }

  void begin(ProgressWatch& watch, int attempt = 0, bool folder_is_there = false) {
    watch.begin_attempt({.attempt = attempt, .round = 7, .first_rank = 2, .workers = 2},
                        folder_is_there);
    pass(std::chrono::milliseconds(10));
  }
  void pass(Duration time) {
    clock_.advance(time);
    ASSERT_TRUE(loop_->run_until_idle());
  }
  // False: nobody listens there.
  static bool send(const std::string& path, std::string_view text) {
    const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    memcpy(address.sun_path, path.data(), path.size());
    return sendto(fd.get(), text.data(), text.size(), 0,
                  reinterpret_cast<const sockaddr*>(&address),
                  sizeof address) == static_cast<ssize_t>(text.size());
  }
  bool say(const ProgressWatch& watch, int local_rank, std::string_view text) {
    return send(*watch.variable(local_rank)->value, text);
  }

  CapturedLog log_;
  FakeClock clock_;
  std::unique_ptr<Loop> loop_;
  TempDir temp_;
  std::string folder_;
  std::vector<std::string> recorded_;
};

TEST_F(ProgressWatchTest, AWorkersWordIsRecordedWithItsRank) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch, 3);
  ASSERT_TRUE(say(watch, 1, R"({"step":120,"total":1000,"epoch":3,"metrics":{"loss":0.31}})"));
  pass({});
  EXPECT_EQ(recorded_, (std::vector<std::string>{
                           R"(progress rank=3 step=120 total=1000 epoch=3 metrics={"loss":0.31} )"
                           "percent=12 round=7 attempt=3 first_rank=2"}));
  EXPECT_EQ(watch.view()->step, 120);
  EXPECT_EQ(log_.text(), "");  // people are not told each step
}

TEST_F(ProgressWatchTest, AtMostOneIsToldASecondAndTheLastOfAnAttempt) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  std::vector<int64_t> moved;
  watch.on_moved([&moved](int64_t step) { moved.push_back(step); });
  for (int step = 1; step <= 25; ++step) {
    ASSERT_TRUE(say(watch, 0, R"({"step":)" + std::to_string(step) + "}"));
    pass(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(moved, (std::vector<int64_t>{1, 11, 21}));
  EXPECT_EQ(recorded_.size(), 3U);
  ASSERT_TRUE(say(watch, 0, R"({"step":26})"));  // and the worker ends
  watch.drain(0);
  EXPECT_EQ(moved.back(), 26);
  watch.end_attempt();
  EXPECT_EQ(recorded_.size(), 4U);
  EXPECT_NE(recorded_.back().find("step=26 "), std::string::npos);
  pass(std::chrono::minutes(1));
  EXPECT_EQ(recorded_.size(), 4U);
}

TEST_F(ProgressWatchTest, StepsThatAreToldAgainAreNoNews) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  int moved = 0;
  watch.on_moved([&moved](int64_t) { ++moved; });
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(say(watch, 0, R"({"step":5})"));
    pass(std::chrono::seconds(2));
  }
  EXPECT_EQ(moved, 1);
}

TEST_F(ProgressWatchTest, TheSocketsServeEveryAttemptAndGoWithTheAgent) {
  std::string path;
  {
    ProgressWatch watch(*loop_, folder_);
    path = *watch.variable(0)->value;
    EXPECT_FALSE(send(path, "{}"));  // not before there are workers
    begin(watch, 0);
    EXPECT_EQ(std::filesystem::status(folder_).permissions(), std::filesystem::perms::owner_all);
    watch.end_attempt();
    begin(watch, 1);
    ASSERT_TRUE(send(path, R"({"step":5})"));
    pass({});
    EXPECT_NE(recorded_.back().find("attempt=1"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_));
}

TEST_F(ProgressWatchTest, AFolderOfSomebodyElseStays) {
  std::filesystem::create_directory(folder_);
  {
    ProgressWatch watch(*loop_, folder_);
    begin(watch, 0, true);
    EXPECT_TRUE(say(watch, 0, R"({"step":5})"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(ProgressWatchTest, WhatIsNoReportIsCountedAndToldOnceAndAtTheEnd) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(say(watch, 0, "x"));
    pass({});
  }
  EXPECT_EQ(log_.count("progress.malformed"), 1U);
  watch.end_attempt();
  EXPECT_EQ(log_.count("messages=5"), 1U);
  EXPECT_FALSE(watch.view());
}

TEST_F(ProgressWatchTest, AMessageThatIsTooLongIsNone) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  const std::string padding(kMaxProgressMessageBytes, ' ');
  ASSERT_TRUE(say(watch, 0, R"({"step":5})" + padding));
  pass({});
  EXPECT_EQ(log_.count("progress.malformed"), 1U);
  EXPECT_FALSE(watch.view());
}

TEST_F(ProgressWatchTest, APathThatIsTooLongIsNotNamedAndSaidOnce) {
  ProgressWatch watch(*loop_, temp_.path() + "/" + std::string(kMaxSocketPathBytes, 'x'));
  EXPECT_FALSE(watch.variable(0));
  begin(watch, 0);
  begin(watch, 1);
  EXPECT_EQ(log_.count("progress.no_socket"), 1U);
}

TEST_F(ProgressWatchTest, AWorkersLinesAreRecognised) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  watch.take_lines(0, "hello\n 50%|#####     | 5/10 [00:01<00:01, 1.00it/s]\r");
  EXPECT_EQ(watch.view()->step, 5);
  EXPECT_EQ(watch.view()->rank, 2);
  watch.end_attempt();
  watch.take_lines(0, "60%|######    | 6/10 [00:01<00:01, 1.00it/s]\r");
  EXPECT_EQ(watch.view()->step, 5);  // it has ended
}

// Whatever else a worker prints then, the step is that of the user's own form.
TEST_F(ProgressWatchTest, TheUsersPatternWins) {
  ProgressWatch watch(*loop_, folder_, *ProgressPattern::parse("update (?P<step>\\d+)"));
  begin(watch);
  watch.take_lines(0, "{\"step\":3,\"loss\":1}\n");
  EXPECT_EQ(watch.view()->step, 3);
  watch.take_lines(0, "update 40\n{\"step\":5,\"loss\":0.5}\n");
  watch.take_lines(0, "60%|######    | 6/10 [00:01<00:01, 1.00it/s]\r");
  EXPECT_EQ(watch.view()->step, 40);
  EXPECT_FALSE(watch.view()->total);
  EXPECT_EQ(watch.view()->metrics.at("loss"), 0.5);
  watch.take_lines(1, "update 50\n");  // each worker is asked
  EXPECT_EQ(watch.view()->step, 40);
  watch.take_lines(0, "update 41\n");
  EXPECT_EQ(watch.view()->step, 41);
  watch.end_attempt();
  begin(watch, 1);
  watch.take_lines(1, "update 7\n");
  EXPECT_EQ(watch.view()->step, 7);
}

TEST_F(ProgressWatchTest, InAFloodOfLinesSomeArePassedOver) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  std::string flood;
  for (size_t i = 0; i < kMaxLinesLookedAt; ++i) flood += "words\n";
  const std::string bar = "50%|#####     | 5/10 [00:01<00:01, 1.00it/s]\n";
  watch.take_lines(0, flood + bar);
  watch.take_lines(0, bar);
  EXPECT_FALSE(watch.view());
  watch.take_lines(1, bar);  // another worker
  EXPECT_TRUE(watch.view());
  pass(kLinesInterval);
  watch.take_lines(0, bar);
  EXPECT_EQ(watch.view()->rank, 2);
}

TEST_F(ProgressWatchTest, AFloodIsTakenInPieces) {
  ProgressWatch watch(*loop_, folder_);
  begin(watch);
  int64_t sent = 0;  // as many as the kernel queues
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = *watch.variable(0)->value;
  memcpy(address.sun_path, path.data(), path.size());
  for (std::string text; sent < 1000; ++sent) {
    text = R"({"step":)" + std::to_string(sent) + "}";
    if (sendto(fd.get(), text.data(), text.size(), 0, reinterpret_cast<const sockaddr*>(&address),
               sizeof address) < 0)
      break;
  }
  pass({});
  EXPECT_EQ(watch.view()->step, sent - 1);
}

}  // namespace
}  // namespace muster::launcher
