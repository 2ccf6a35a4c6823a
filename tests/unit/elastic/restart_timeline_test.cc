#include "elastic/restart_timeline.h"

#include <gtest/gtest.h>

namespace muster::elastic {
namespace {

using Phase = RestartPhase;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kBegin{seconds(1000)};

class RestartTimelineTest : public ::testing::Test {
 protected:
  static TimePoint at(int second) { return kBegin + seconds(second); }
  static Fault fault(const std::string& cause, int happened, int known, int told) {
    return {cause, "why", 1, at(happened), at(known), at(told)};
  }
  static Duration of(const Interruption& interruption, RestartPhase phase) {
    return interruption.phases.at(static_cast<size_t>(phase));
  }
  /// The only one that is complete.
  Interruption told() {
    const auto all = timeline_.take_told();
    EXPECT_EQ(all.size(), 1U);
    return all.empty() ? Interruption{} : all.front();
  }

  RestartTimeline timeline_{kBegin};
};

TEST_F(RestartTimelineTest, ThePhasesOfAnInterruptionAddUpToItsTotal) {
  timeline_.runs(at(1), 1);
  timeline_.moved(at(2));
  timeline_.broke(fault("lost", 10, 13, 14));
  timeline_.charge(Phase::kStop, at(16));
  timeline_.charge(Phase::kDecide, at(17));
  timeline_.charge(Phase::kRendezvous, at(20));
  timeline_.charge(Phase::kCheck, seconds(2), at(30));
  timeline_.runs(at(23), 2);
  EXPECT_TRUE(timeline_.take_told().empty()) << "its first step is waited for";
  timeline_.moved(at(25));
  const Interruption done = told();
  EXPECT_EQ(done.fault.cause, "lost");
  EXPECT_EQ(done.fault.round, 1U);
  EXPECT_EQ(done.round, 2U);
  EXPECT_EQ(of(done, Phase::kDetect), seconds(3));
  EXPECT_EQ(of(done, Phase::kDecide), seconds(2));
  EXPECT_EQ(of(done, Phase::kStop), seconds(2));
  EXPECT_EQ(of(done, Phase::kRendezvous), seconds(3));
  EXPECT_EQ(of(done, Phase::kCheck), seconds(2));
  EXPECT_EQ(of(done, Phase::kSpawn), seconds(1));
  EXPECT_EQ(of(done, Phase::kFirstProgress), seconds(2));
  EXPECT_TRUE(done.moved);
  EXPECT_EQ(done.total(), seconds(15));
}

TEST_F(RestartTimelineTest, AStepIsNotWaitedForForEver) {
  timeline_.runs(at(0), 1);
  timeline_.moved(at(1));
  timeline_.broke(fault("failure", 10, 10, 10));
  timeline_.runs(at(11), 2);
  ASSERT_EQ(timeline_.deadline(), at(11) + kFirstProgressWait);
  timeline_.tick(at(11) + kFirstProgressWait - milliseconds(1));
  EXPECT_TRUE(timeline_.take_told().empty());
  timeline_.tick(at(11) + kFirstProgressWait);
  const Interruption done = told();
  EXPECT_FALSE(done.moved);
  EXPECT_EQ(done.total(), seconds(1)) << "the wait is no part of it";
  EXPECT_FALSE(timeline_.deadline());
}

TEST_F(RestartTimelineTest, AJobThatNeverToldAStepIsWaitedForInVainForLessTime) {
  timeline_.runs(at(0), 1);
  timeline_.broke(fault("failure", 10, 10, 10));
  timeline_.runs(at(11), 2);
  EXPECT_EQ(timeline_.deadline(), at(11) + kFirstStepWait);
}

TEST_F(RestartTimelineTest, TheNextInterruptionTellsTheOneBefore) {
  timeline_.runs(at(0), 1);
  timeline_.broke(fault("failure", 5, 5, 5));
  timeline_.runs(at(6), 2);
  timeline_.broke(fault("lost", 8, 9, 9));
  EXPECT_EQ(told().fault.cause, "failure");
  timeline_.runs(at(10), 3);
  timeline_.ends(at(12));
  EXPECT_EQ(told().fault.cause, "lost");
}

TEST_F(RestartTimelineTest, ARoundThatEndedBeforeItRanBelongsToTheSameInterruption) {
  timeline_.runs(at(0), 1);
  timeline_.broke(fault("lost", 5, 6, 6));
  timeline_.charge(Phase::kStop, at(7));
  timeline_.charge(Phase::kRendezvous, at(8));
  timeline_.broke(fault("failure", 9, 10, 10));
  timeline_.charge(Phase::kStop, at(11));
  timeline_.charge(Phase::kRendezvous, at(12));
  timeline_.runs(at(13), 3);
  timeline_.ends(at(14));
  const Interruption done = told();
  EXPECT_EQ(done.fault.cause, "lost");
  EXPECT_EQ(of(done, Phase::kSpawn), seconds(3));
  EXPECT_EQ(of(done, Phase::kStop), seconds(2));
  EXPECT_EQ(of(done, Phase::kRendezvous), seconds(2));
  EXPECT_EQ(done.total(), seconds(8));
}

TEST_F(RestartTimelineTest, WhatEndedTheJobIsNoRestart) {
  timeline_.runs(at(0), 1);
  timeline_.broke(fault("failure", 5, 6, 6));
  timeline_.ends(at(7));
  EXPECT_TRUE(timeline_.take_told().empty());
  EXPECT_TRUE(timeline_.causes().empty());
}

TEST_F(RestartTimelineTest, ALostNodeExplainsAFailureThatWasToldBefore) {
  timeline_.runs(at(0), 1);
  timeline_.broke(fault("failure", 5, 5, 5));
  timeline_.explain("lost", "node-2 is gone");
  timeline_.runs(at(6), 2);
  timeline_.ends(at(7));
  const Interruption done = told();
  EXPECT_EQ(done.fault.cause, "lost");
  EXPECT_EQ(done.fault.reason, "node-2 is gone");
}

TEST_F(RestartTimelineTest, SumsAreOfWhatWasTold) {
  for (const int begin : {10, 20, 30}) {
    timeline_.broke(fault(begin == 30 ? "lost" : "failure", begin, begin + 1, begin + 1));
    timeline_.runs(at(begin + 3), 2);
    timeline_.moved(at(begin + 4));
  }
  ASSERT_EQ(timeline_.causes().size(), 2U);
  EXPECT_EQ(timeline_.causes().at("failure").count, 2U);
  EXPECT_EQ(timeline_.causes().at("failure").time, seconds(8));
  EXPECT_EQ(timeline_.causes().at("lost").count, 1U);
  EXPECT_EQ(timeline_.phases().at(static_cast<size_t>(Phase::kDetect)), seconds(3));
  EXPECT_EQ(timeline_.phases().at(static_cast<size_t>(Phase::kFirstProgress)), seconds(3));
}

TEST_F(RestartTimelineTest, TimeIsWellSpentFromAFirstStepToAFault) {
  EXPECT_EQ(timeline_.productive_ratio(kBegin), 0);
  timeline_.runs(at(10), 1);
  timeline_.moved(at(20));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(40)), 0.5);
  timeline_.broke(fault("lost", 60, 65, 65));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(80)), 0.5);
  timeline_.runs(at(80), 2);
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(100)), 0.4) << "no step yet";
  timeline_.moved(at(100));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(200)), 0.7);
}

TEST_F(RestartTimelineTest, AStepOfWorkersThatAreBeingStoppedIsNoWork) {
  timeline_.runs(at(0), 1);
  timeline_.moved(at(0));
  timeline_.broke(fault("failure", 10, 10, 10));
  timeline_.moved(at(11));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(20)), 0.5);
  timeline_.runs(at(20), 2);
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(40)), 0.25) << "its first step is waited for";
  timeline_.moved(at(40));
  EXPECT_EQ(of(told(), Phase::kFirstProgress), seconds(20));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(80)), 50.0 / 80);
}

TEST_F(RestartTimelineTest, TimeInWhichSomebodyElseLedCountsNeitherWay) {
  timeline_.runs(at(0), 1);
  timeline_.ends(at(10));
  timeline_.skip(seconds(70));
  timeline_.broke(fault("leader", 78, 80, 80));
  timeline_.runs(at(90), 3);
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(110)), 30.0 / 40);
}

TEST_F(RestartTimelineTest, WithoutStepsTimeIsWellSpentWhileTheWorkersRun) {
  timeline_.runs(at(10), 1);
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(20)), 0.5);
  timeline_.broke(fault("failure", 20, 20, 20));
  timeline_.runs(at(30), 2);
  timeline_.ends(at(40));
  EXPECT_DOUBLE_EQ(timeline_.productive_ratio(at(40)), 0.5);
}

TEST_F(RestartTimelineTest, NoTimeIsInTwoPhasesIfClocksDisagree) {
  timeline_.broke(fault("failure", 10, 10, 10));
  timeline_.charge(Phase::kStop, at(12));
  timeline_.charge(Phase::kDecide, at(11));
  timeline_.charge(Phase::kCheck, seconds(100), at(14));
  timeline_.runs(at(13), 2);
  timeline_.ends(at(20));
  EXPECT_EQ(told().total(), seconds(4));
}

}  // namespace
}  // namespace muster::elastic
