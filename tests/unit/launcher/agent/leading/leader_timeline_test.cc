#include "launcher/agent/leading/leader_timeline.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/fake_clock.h"
#include "tests/support/output_fixture.h"

namespace muster::launcher {
namespace {

using rendezvous::LeaderState;
using rendezvous::leader_output::Entered;
using std::chrono::seconds;

class LeaderTimelineTest : public ::testing::Test {
 protected:
  [[nodiscard]] TimePoint at(int second) const { return begin_ + seconds(second); }
  Entered entered(LeaderState state, int second, uint64_t round = 1) const {
    Entered each;
    each.state = state;
    each.at = at(second);
    each.round = round;
    return each;
  }
  void take(const Entered& each) { follow_leader(each, timeline_); }
  [[nodiscard]] nlohmann::json last() const { return parse_json(timeline_.json())->back(); }

  testing::FakeClock clock_;
  std::unique_ptr<Loop> loop_ = std::move(*Loop::create(clock_));
  testing::CapturedLog log_;
  TimePoint begin_ = clock_.now();
  JobTimeline timeline_{*loop_, clock_};
};

TEST_F(LeaderTimelineTest, ALostNodeIsDetectedStoppedAndReplaced) {
  take(entered(LeaderState::kGathering, 0, 0));
  take(entered(LeaderState::kRunning, 1));
  Entered stopping = entered(LeaderState::kStopping, 10);
  stopping.cause = "failure";
  stopping.reason = "rank 1 failed";
  stopping.fault = at(6);
  stopping.known = at(9);
  take(stopping);
  Entered gathering = stopping;
  gathering.state = LeaderState::kGathering;
  gathering.at = gathering.stopped = at(12);
  gathering.cause = "lost";  // which explains it
  gathering.reason = "node-2 is gone";
  take(gathering);
  take(entered(LeaderState::kLastCall, 13));
  gathering.at = at(16);  // a node went again: nothing is stopped by that
  take(gathering);
  Entered assigned = entered(LeaderState::kAssigned, 17, 2);
  assigned.stopped = at(12);
  assigned.pause_over = at(14);
  take(assigned);
  take(entered(LeaderState::kRunning, 18, 2));
  timeline_.moved(at(20));
  const nlohmann::json told = last();
  EXPECT_EQ(told["cause"], "lost");
  EXPECT_EQ(told["reason"], "node-2 is gone");
  EXPECT_EQ(told["phases"], *parse_json(R"({"detect":3.0,"decide":3.0,"stop":2.0,"rendezvous":3.0,
      "check":0.0,"spawn":1.0,"first_progress":2.0})"));
  EXPECT_EQ(timeline_.times()->rendezvous, seconds(3));
}

TEST_F(LeaderTimelineTest, ALeaderThatTakesOverStopsWhatIsLeft) {
  Entered begins = entered(LeaderState::kGathering, 5);
  begins.cause = rendezvous::kCauseLeader;
  begins.reason = "round 1 ended with its leader";
  begins.fault = at(2);
  begins.known = at(5);
  take(begins);
  Entered assigned = entered(LeaderState::kAssigned, 9, 2);
  assigned.stopped = at(8);
  take(assigned);
  take(entered(LeaderState::kRunning, 9, 2));
  take(entered(LeaderState::kFinished, 30, 2));
  const nlohmann::json told = last();
  EXPECT_EQ(told["cause"], "leader");
  EXPECT_EQ(told["phases"]["detect"], 3);
  EXPECT_EQ(told["phases"]["stop"], 3);
  EXPECT_EQ(told["phases"]["rendezvous"], 1);
  EXPECT_FALSE(told["phases"].contains("first_progress"));
}

TEST_F(LeaderTimelineTest, WhatEndsTheJobIsNoRestart) {
  take(entered(LeaderState::kGathering, 0, 0));
  take(entered(LeaderState::kRunning, 1));
  Entered stopping = entered(LeaderState::kStopping, 2);
  stopping.cause = "failure";
  stopping.fault = stopping.known = at(2);
  take(stopping);
  take(entered(LeaderState::kGathering, 3));
  take(entered(LeaderState::kFinished, 3));
  EXPECT_EQ(timeline_.json(), "[]");
}

}  // namespace
}  // namespace muster::launcher
