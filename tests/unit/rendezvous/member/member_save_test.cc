// What a member does with a Stop while its workers save: whoever was told to save keeps that time.
#include <csignal>

#include "rendezvous/agreement/events.h"
#include "rendezvous/member/member.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using namespace member_output;

class MemberSaveTest : public testing::MemberFixture {
 protected:
  void run() {
    outputs_.clear();
    begin(std::nullopt);
    welcome();
    run_round(1);
    outputs_.clear();
  }
  void leave(Duration grace) { member_->on_shutdown(now_, grace, "got SIGTERM"); }
  void order(Stop stop) { member_->on_message(now_, 0, stop); }
  // With its leader, which answers.
  void pass(Duration time) {
    const TimePoint until = now_ + time;
    while (now_ < until) {
      now_ += milliseconds(100);
      member_->on_tick(now_);
      const auto heartbeat = sent<Heartbeat>();
      if (heartbeat) member_->on_message(now_, 0, Ack{heartbeat->sequence, 0});
    }
  }
  bool stopped() { return output<StopWorkers>().has_value(); }
};

TEST_F(MemberSaveTest, WhoWasToldToGoIsNotStoppedBeforeHalfOfItsTimeIsOver) {
  run();
  leave(seconds(8));
  pass(seconds(1));
  order({1, 2000, "worker-3 ended"});
  EXPECT_EQ(member_->state(), MemberState::kStopping);
  pass(milliseconds(2900));
  EXPECT_FALSE(stopped());
  pass(milliseconds(100));
  const auto stop = output<StopWorkers>();
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->grace, seconds(4));  // the other half, and not that of who has lost a peer
  EXPECT_EQ(stop->reason, "worker-3 ended");
  member_->on_gone(now_, 1);
  EXPECT_EQ(output<Exit>()->outcome.exit_code, 128 + SIGTERM);
}

TEST_F(MemberSaveTest, AStopAfterThatTimeIsObeyedAsItIs) {
  run();
  leave(seconds(8));
  pass(seconds(4));
  order({1, 1500, "worker-3 ended"});
  EXPECT_EQ(output<StopWorkers>()->grace, milliseconds(1500));
}

TEST_F(MemberSaveTest, WhoHasSavedWaitsForNothing) {
  for (const bool succeeded : {true, false}) {
    run();
    leave(seconds(60));
    order({1, 0, "worker-3 ended"});
    succeeded ? member_->on_succeeded(now_, 1) : member_->on_gone(now_, 1);
    EXPECT_EQ(sent<Stopped>().has_value(), !succeeded);
    EXPECT_EQ(output<Exit>()->outcome.exit_code, 128 + SIGTERM);
    EXPECT_FALSE(stopped());
  }
}

// A node that only starts the workers of others, or whose workers have ended without a word.
TEST_F(MemberSaveTest, WhereNobodySavesAStopIsObeyedAtOnce) {
  for (const bool before : {true, false}) {
    run();
    leave(seconds(60));
    if (before) member_->on_saved(now_, 1);
    order({1, 1500, "worker-3 ended"});
    EXPECT_EQ(stopped(), before);
    if (!before) member_->on_saved(now_, 1);
    EXPECT_EQ(output<StopWorkers>()->grace, milliseconds(1500));
  }
}

TEST_F(MemberSaveTest, AfterALeaderWasLostTheNextOneWaitsAsWell) {
  run();
  leave(seconds(8));
  pass(seconds(1));
  member_->on_link_closed(now_, 0, "closed the connection");
  now_ += seconds(1);
  welcome();
  order({1, 2000, "the leader of round 1 is gone"});
  order({1, 0, "again"});  // on another link
  pass(milliseconds(1900));
  EXPECT_FALSE(stopped());
  pass(milliseconds(100));
  EXPECT_EQ(output<StopWorkers>()->grace, seconds(4));
}

TEST_F(MemberSaveTest, WhoIsFencedWhileItSavesKillsItsWorkers) {
  run();
  leave(seconds(60));
  order({1, 2000, "worker-3 ended"});
  member_->on_link_closed(now_, 0, "closed the connection");
  now_ += seconds(8);  // four fifths of a lease
  member_->on_tick(now_);
  EXPECT_TRUE(output<KillWorkers>());
  now_ += seconds(30);
  member_->on_tick(now_);
  EXPECT_FALSE(stopped());
}

TEST_F(MemberSaveTest, ASecondSignalMeansNow) {
  run();
  leave(seconds(60));
  order({1, 2000, "worker-3 ended"});
  EXPECT_FALSE(output<KillWorkers>());
  leave(seconds(0));
  EXPECT_TRUE(output<KillWorkers>());
}

// SIGTERM comes at once then, SIGKILL not before they could have saved.
TEST_F(MemberSaveTest, WhereAllNodesLeaveNobodyIsWaitedFor) {
  for (const bool later : {true, false}) {
    run();
    leave(seconds(60));
    pass(seconds(1));
    if (later) order({1, 2000, "worker-3 leaves"});
    EXPECT_FALSE(stopped());
    order({1, 2000, "worker-3 leaves", true});
    EXPECT_EQ(output<StopWorkers>()->grace, std::max<Duration>(options_.stop_grace, seconds(29)));
  }
}

TEST_F(MemberSaveTest, BesideALaterRoundNothingRuns) {
  for (const bool later : {true, false}) {
    run();
    leave(seconds(60));
    if (later) order({1, 2000, "the leader of round 1 is gone"});
    order({1, 2000, "round 2 went on without this node", false, true});
    EXPECT_EQ(output<StopWorkers>()->grace, seconds(2));
  }
}

TEST_F(MemberSaveTest, AJobThatIsOverWaitsForNobody) {
  for (const bool held : {true, false}) {
    run();
    leave(seconds(60));
    if (held) order({1, 2000, "worker-3 ended"});
    member_->on_message(now_, 0, Finish{true, 0, "the launcher succeeded", std::nullopt});
    EXPECT_EQ(output<StopWorkers>()->grace, options_.stop_grace);
  }
}

TEST_F(MemberSaveTest, OnOtherNodesItCountsWhereTheirWorkersAreTold) {
  for (const bool all : {true, false}) {
    options_.preempt_notify_all = all;
    run();
    member_->on_message(now_, 0, Notice{1, "worker-3", 8000});
    order({1, 2000, "worker-3 ended"});
    EXPECT_EQ(stopped(), !all);
    pass(seconds(4));
    EXPECT_EQ(output<StopWorkers>()->grace, all ? seconds(4) : seconds(2));
  }
}

TEST_F(MemberSaveTest, OfSeveralNoticesTheLongestCountsAndItsOwnMoreThanAny) {
  options_.preempt_notify_all = true;
  for (const bool leaves : {false, true}) {
    run();
    member_->on_message(now_, 0, Notice{1, "worker-3", 8000});
    member_->on_message(now_, 0, Notice{1, "worker-2", 4000});
    if (leaves) leave(seconds(6));
    member_->on_message(now_, 0, Notice{1, "worker-4", 8000});
    order({1, 2000, "worker-3 ended"});
    pass(milliseconds(2900));
    EXPECT_FALSE(stopped());
    pass(milliseconds(200));
    EXPECT_EQ(stopped(), leaves);
    pass(milliseconds(1000));
    EXPECT_TRUE(stopped());
  }
}

TEST_F(MemberSaveTest, WhoIsToldToGoWhileItSavesForAnotherIsNotGivenMore) {
  options_.preempt_notify_all = true;
  run();
  member_->on_message(now_, 0, Notice{1, "worker-3", 8000});
  order({1, 2000, "worker-3 ended"});
  leave(seconds(2));
  pass(seconds(1));
  EXPECT_EQ(output<StopWorkers>()->grace, seconds(1));
}

TEST_F(MemberSaveTest, WhatIsHeldBackIsSaidOnceWithItsReason) {
  run();
  leave(seconds(8));
  order({1, 2000, "worker-3 ended"});
  const auto line = output<Log>();
  ASSERT_TRUE(line);
  EXPECT_EQ(line->event, kEventRoundSaving);
  EXPECT_EQ(line->reason, "workers have 4 s to save before they are stopped: worker-3 ended");
  EXPECT_EQ(line->level, log::Level::kInfo);
  outputs_.clear();
  order({1, 1000, "worker-3 ended"});
  EXPECT_FALSE(output<Log>());
  EXPECT_FALSE(stopped());
}

// Of round 1 nothing is left in round 2.
TEST_F(MemberSaveTest, AnotherRoundBeginsWithoutIt) {
  options_.preempt_notify_all = true;
  run();
  member_->on_message(now_, 0, Notice{1, "worker-3", 60'000});
  order({1, 2000, "worker-3 ended"});
  member_->on_gone(now_, 1);
  run_round(2);
  order({2, 2000, "a worker failed"});
  EXPECT_EQ(output<StopWorkers>()->grace, seconds(2));
}

TEST_F(MemberSaveTest, WhoIsBeingStoppedIsNotToldAgainToSave) {
  options_.preempt_notify_all = true;
  run();
  order({1, 2000, "worker-3 ended"});
  member_->on_message(now_, 0, Notice{1, "worker-4", 60'000});
  EXPECT_FALSE(output<NotifyWorkers>());
  run();
  member_->on_message(now_, 0, Notice{1, "worker-3", 8000});
  order({1, 2000, "worker-3 ended"});
  EXPECT_TRUE(output<NotifyWorkers>());
  outputs_.clear();
  member_->on_message(now_, 0, Notice{1, "worker-4", 60'000});
  EXPECT_FALSE(output<NotifyWorkers>());
}

TEST_F(MemberSaveTest, WhoLeavesItselfIsNotToldOfOthersThatDo) {
  for (const bool all : {true, false}) {
    options_.preempt_notify_all = all;
    run();
    leave(seconds(8));
    EXPECT_TRUE(output<NotifyWorkers>());
    outputs_.clear();
    member_->on_message(now_, 0, Notice{1, "worker-4", 8000});
    EXPECT_FALSE(output<NotifyWorkers>());
  }
}

TEST_F(MemberSaveTest, WhoLeavesWhileAStopWaitsIsToldTheTimeThatIsLeft) {
  options_.preempt_notify_all = true;
  run();
  member_->on_message(now_, 0, Notice{1, "worker-3", 8000});
  order({1, 2000, "worker-3 ended"});
  pass(seconds(1));
  leave(seconds(60));
  ASSERT_TRUE(output<NotifyWorkers>());
  EXPECT_EQ(output<NotifyWorkers>()->grace, seconds(6)) << "half of it is to save";
}

// Both come in the same moment.
TEST_F(MemberSaveTest, ThatAllLeaveWhenTheTimeIsOverTakesNoGrace) {
  options_.lease = seconds(60);
  run();
  leave(seconds(8));
  order({1, 2000, "worker-3 ended"});
  pass(milliseconds(3900));
  now_ += milliseconds(100);
  order({1, 0, "worker-3 ended", true});
  ASSERT_TRUE(stopped());
  EXPECT_EQ(output<StopWorkers>()->grace, seconds(4));
}

}  // namespace
}  // namespace muster::rendezvous
