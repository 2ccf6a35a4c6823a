#include "launcher/timeline/job_timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using elastic::RestartPhase;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::CapturedLog;

class JobTimelineTest : public ::testing::Test {
 protected:
  JobTimelineTest() { timeline_.entered("Gathering", now()); }
  [[nodiscard]] TimePoint now() const { return loop_->now(); }
  void pass(Duration time) {
    clock_.advance(time);
    EXPECT_TRUE(loop_->run_until_idle());
  }
  void run(uint64_t round) {
    timeline_.entered("Running", now());
    timeline_.runs(now(), round);
  }
  void break_round(const std::string& cause, const std::string& reason = "why") {
    timeline_.entered("Stopping", now());
    timeline_.broke({cause, reason, 1, now(), now(), now()});
  }
  [[nodiscard]] nlohmann::json history() const { return *parse_json(timeline_.json()); }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  CapturedLog log_;
  JobTimeline timeline_{*loop_, clock_};
};

TEST_F(JobTimelineTest, AnInterruptionIsOneReadableLineAndARowOfTheHistory) {
  run(1);
  timeline_.moved(now());
  break_round("lost", "node-2 is \"gone\"");
  pass(milliseconds(1500));
  timeline_.charge(RestartPhase::kStop, now());
  timeline_.formed(now(), {});
  run(2);
  pass(milliseconds(250));
  timeline_.moved(now());
  EXPECT_NE(log_.text().find("I restart.timeline round=1 cause=lost reason=\"node-2 is "
                             "\\\"gone\\\"\" total_s=1.750 phases=detect:0.000,decide:0.000,stop:1."
                             "500,rendezvous:0.000,check:0.000,spawn:0.000,first_progress:0.250"),
            std::string::npos)
      << log_.text();
  const nlohmann::json told = history();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0]["cause"], "lost");
  EXPECT_EQ(told[0]["round"], 1);
  EXPECT_EQ(told[0]["reason"], "node-2 is \"gone\"");
  EXPECT_EQ(told[0]["total_s"], 1.75);
  EXPECT_EQ(told[0]["phases"]["stop"], 1.5);
  EXPECT_EQ(told[0]["time"], "2023-11-14T22:13:20.000Z") << "of the fault";
}

TEST_F(JobTimelineTest, WhereNoStepComesTheLineDoesByItself) {
  run(1);
  break_round("failure");
  pass(seconds(1));
  run(2);
  pass(elastic::kFirstStepWait - milliseconds(1));
  EXPECT_EQ(log_.count("restart.timeline"), 0U);
  pass(milliseconds(1));
  EXPECT_EQ(log_.count("restart.timeline"), 1U);
  EXPECT_EQ(log_.count("first_progress"), 0U);
  pass(elastic::kFirstProgressWait);
  EXPECT_EQ(log_.count("restart.timeline"), 1U);
}

TEST_F(JobTimelineTest, ChecksArePartOfTheTimeBeforeTheWorkersStart) {
  break_round("unfit");
  timeline_.formed(now(), {});
  pass(seconds(3));
  timeline_.checked(seconds(2));
  run(2);
  timeline_.ends(now());
  EXPECT_EQ(history()[0]["phases"]["check"], 2);
  EXPECT_EQ(history()[0]["phases"]["spawn"], 1);
}

TEST_F(JobTimelineTest, OnOneNodeChecksComeBeforeThePause) {
  break_round("failure");
  pass(seconds(5));
  timeline_.checked(seconds(2));
  timeline_.paused(now());
  run(2);
  timeline_.ends(now());
  EXPECT_EQ(history()[0]["phases"]["check"], 2);
  EXPECT_EQ(history()[0]["phases"]["decide"], 3);
}

TEST_F(JobTimelineTest, ChecksThatFailedAreChecksAllTheSame) {
  break_round("lost");
  timeline_.formed(now(), {});
  pass(seconds(2));
  timeline_.checked(seconds(2));
  break_round("unfit");
  run(3);
  timeline_.ends(now());
  EXPECT_EQ(history()[0]["phases"]["check"], 2);
  EXPECT_EQ(history()[0]["cause"], "lost");
}

TEST_F(JobTimelineTest, TheHistoryIsBounded) {
  for (size_t i = 0; i < kKeptInterruptions + 5; ++i) {
    break_round("failure", std::to_string(i) + std::string(1000, '\x01'));
    run(2);
  }
  timeline_.ends(now());
  EXPECT_EQ(history().size(), kKeptInterruptions);
  EXPECT_TRUE(history()[0]["reason"].get<std::string>().starts_with("5"));
  EXPECT_LE(timeline_.json().size(), kKeptInterruptions * 1024);
  EXPECT_EQ(timeline_.times()->causes.at("failure").count, kKeptInterruptions + 5);
}

TEST_F(JobTimelineTest, TimeIsSpentInStates) {
  pass(seconds(2));
  timeline_.formed(now(), seconds(2));
  run(1);
  pass(seconds(6));
  const auto times = timeline_.times();
  ASSERT_TRUE(times);
  EXPECT_EQ(times->states.at("Gathering"), seconds(2));
  EXPECT_EQ(times->states.at("Running"), seconds(6)) << "until now";
  EXPECT_EQ(times->rounds, 1U);
  EXPECT_EQ(times->rendezvous, seconds(2));
  EXPECT_DOUBLE_EQ(times->productive_ratio, 0.75);
}

TEST_F(JobTimelineTest, WhatAnotherAgentLedIsNoTimeOfThisOne) {
  run(1);
  pass(seconds(10));
  timeline_.ends(now());
  timeline_.entered("", now());
  pass(seconds(1000));
  timeline_.entered("Gathering", now());
  pass(seconds(10));
  EXPECT_DOUBLE_EQ(timeline_.times()->productive_ratio, 0.5);
}

TEST_F(JobTimelineTest, EveryCauseIsCountedFromTheStart) {
  EXPECT_EQ(timeline_.times()->causes.size(), elastic::kRestartCauses.size());
  break_round("lost");
  run(2);
  timeline_.ends(now());
  const auto times = timeline_.times();
  EXPECT_EQ(times->causes.size(), elastic::kRestartCauses.size());
  EXPECT_EQ(times->causes.at("lost").count, 1U);
  EXPECT_EQ(times->causes.at("failure").count, 0U);
}

TEST_F(JobTimelineTest, WhoNeverLedKnowsNothing) {
  JobTimeline other(*loop_, clock_);
  other.broke({"lost", "", 1, now(), now(), now()});
  other.runs(now(), 2);
  other.moved(now());
  other.ends(now());
  EXPECT_FALSE(other.times());
  EXPECT_EQ(other.json(), "[]");
}

}  // namespace
}  // namespace muster::launcher
