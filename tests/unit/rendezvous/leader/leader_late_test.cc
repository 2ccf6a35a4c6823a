// What comes late, twice, or from somebody who is no longer the one: networks hold messages back,
// and agents say again what may have been lost.
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

class LateMessages : public testing::LeaderFixture {
 protected:
  void hello(LinkId link) {
    leader_->on_message(now_, link, Hello{kControlVersion, "job", false, 0, {}, {}});
  }
  // Node `index` comes back on another link, with what it knows of round 1.
  void join_on(LinkId link, int index) {
    hello(link);
    Join again = join_of(index);
    again.last_round = report_of(index, 1);
    again.last_round->workers = true;
    leader_->on_message(now_, link, again);
    turn();
  }
  // Round 2, on both nodes, after a failure in round 1.
  void run_again() {
    run_two();
    say(1, failure(1));
    for (const int node : {0, 1}) say(node, Stopped{1});
    for (const int node : {0, 1}) say(node, Started{2});
    ASSERT_EQ(leader_->state(), LeaderState::kRunning);
    outputs_.clear();
  }
};

TEST_F(LateMessages, OfAnEarlierRoundTheyChangeNothing) {
  run_again();
  say(0, Started{1});
  for (const int node : {0, 1}) say(node, Succeeded{1});
  say(0, Stopped{1});
  say(1, failure(1));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  EXPECT_FALSE(sent<Stop>(0).has_value());
  EXPECT_FALSE(sent<Finish>(0).has_value());
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

TEST_F(LateMessages, AFailureThatIsToldTwiceIsOneRestart) {
  policy_.max_restarts = 5;
  run_two();
  say(1, failure(1));
  say(1, failure(1));
  Join again = join_of(1);
  again.last_round = report_of(1, 1);
  again.last_round->workers = true;
  again.failures = failure(1).failures;
  join(1, again);
  for (const int node : {0, 1, 1}) say(node, Stopped{1});
  ASSERT_EQ(sent<Assign>(0)->round, 2u);
  say(1, failure(1));
  EXPECT_EQ(policy_.state.restarts_used, 1);
  EXPECT_EQ(leader_->round(), 2u);
}

TEST_F(LateMessages, AFailureThatIsToldOnANewLinkIsARestartAsWell) {
  run_two();
  leader_->on_link_closed(now_, link_of(1));
  turn();
  Join again = join_of(1);
  again.last_round = report_of(1, 1);  // nothing of it is alive any more
  again.failures = failure(1).failures;
  join(1, again);
  say(0, Stopped{1});
  EXPECT_EQ(sent<Assign>(0)->round, 2u);
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

// Node 0 did as it was told, and its link broke before it could say so, or when it had.
TEST_F(LateMessages, WhoWasToldToStopAndComesOnANewLinkIsNoLoss) {
  policy_.max_restarts = 2;
  for (const bool said : {false, true}) {
    run_two();
    say(1, failure(1));
    ASSERT_TRUE(sent<Stop>(0).has_value());
    if (said) say(0, Stopped{1});
    leader_->on_link_closed(now_, link_of(0));
    turn();
    Join again = join_of(0);
    again.last_round = report_of(0, 1);
    join(0, again);
    say(1, Stopped{1});
    EXPECT_EQ(sent<Assign>(0)->round, 2u);
    EXPECT_EQ(policy_.state.restarts_used, said ? 2 : 1);
    outputs_.clear();
  }
}

TEST_F(LateMessages, WhoMissedItsAssignmentExplainsNoFailure) {
  lead();
  join(0);
  join(1);
  say(0, failure(1));
  leader_->on_link_closed(now_, link_of(1));
  turn();
  join(1);
  say(0, Stopped{1});
  EXPECT_EQ(sent<Assign>(1)->round, 2u);
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

// Node 0 runs that round, whose leader may be lost before all have stopped.
TEST_F(LateMessages, WhoMissedItsAssignmentIsToldOfTheRound) {
  lead();
  join(0);
  join(1);
  say(0, Started{1});
  leader_->on_link_closed(now_, link_of(1));
  turn();
  ASSERT_FALSE(sent<Waiting>(1) && sent<Waiting>(1)->last.round == 1);
  join(1);
  ASSERT_EQ(leader_->state(), LeaderState::kStopping);
  ASSERT_TRUE(sent<Waiting>(1));
  EXPECT_EQ(sent<Waiting>(1)->last.round, 1u);
  say(0, Stopped{1});
  EXPECT_EQ(sent<Assign>(1)->round, 2u);
}

// After a take-over; of the newest round, where all had ended well that is the end of the job.
TEST_F(LateMessages, WorkersThatEndWellBeforeTheyAreStoppedAreNotWaitedFor) {
  for (const bool newest : {false, true}) {
    lead();
    for (const int node : {0, 1}) {
      Join back = join_of(node);
      back.last_round = report_of(node, node == 0 || newest ? 4 : 3);
      back.last_round->workers = true;
      join(node, back);
      EXPECT_TRUE(sent<Stop>(node));
    }
    say(0, newest ? Message(Succeeded{4}) : Message(Stopped{4}));
    EXPECT_EQ(leader_->state(), LeaderState::kGathering);
    say(1, Succeeded{newest ? 4U : 3U});
    if (!newest) pass(2 * options_.lease, {0, 1});  // who else was in round 4?
    EXPECT_EQ(leader_->state(), newest ? LeaderState::kFinished : LeaderState::kAssigned);
    outputs_.clear();
  }
}

// Where node 0, which leads, is lost before a round with the spare is known to run everywhere, only
// the spare can tell that all of round 1 have ended.
TEST_F(LateMessages, ASpareThatMayLeadIsToldOfTheNodesOfTheRoundOnce) {
  run_two();
  Join spare = join_of(2);
  for (const bool may_lead : {false, true}) {
    outputs_.clear();
    if (may_lead) spare.candidate = 1;
    spare.identity.incarnation += 100;
    join(2, spare);
    ASSERT_TRUE(sent<Waiting>(2) && sent<Waiting>(2)->spare);
    const auto part = sent<RosterPart>(2);
    ASSERT_EQ(part.has_value(), may_lead);
    if (!may_lead) continue;
    EXPECT_EQ(part->round, 1U);
    ASSERT_EQ(part->nodes.size(), 2U);
    EXPECT_EQ(part->nodes[1].identity.incarnation, join_of(1).identity.incarnation);
  }
}

// Its workers had ended as they were told to.
TEST_F(LateMessages, WhoIsLostAfterItStoppedExplainsNoFailure) {
  run_two();
  say(0, failure(1));
  say(1, Stopped{1});
  say(1, Goodbye{"gone"});
  join(2);
  say(0, Stopped{1});
  EXPECT_EQ(leader_->state(), LeaderState::kAssigned);
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

// Whether its last word is there when all have stopped is chance.
TEST_F(LateMessages, ANodeThatLeavesExplainsAFailureBeforeItHasGone) {
  run_two();
  say(1, Leaving{"SIGTERM", 4000});
  say(0, failure(1));
  say(1, Stopped{1});
  say(0, Stopped{1});
  say(1, Goodbye{"preempted"});
  EXPECT_EQ(policy_.state.restarts_used, 0);
}

// A round of the same number, under a leader that few of the nodes followed.
TEST_F(LateMessages, WhatWasJudgedElsewhereIsNotTheRoundThatRuns) {
  run_two();
  Join other = join_of(2);
  other.last_round = report_of(1, 1);
  other.last_round->term = 1;
  other.budget.judged_round = 1;
  join(2, other);
  say(1, failure(1));
  EXPECT_TRUE(sent<Stop>(0).has_value());
  for (const int node : {0, 1}) say(node, Stopped{1});
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

// It may have ended its workers before the failure, which it explains then.
TEST_F(LateMessages, WhoWasOutOfTouchAndEndedItsWorkersIsALoss) {
  for (const bool linked : {true, false}) {
    run_two();
    pass(linked ? 5s : 1s, {0});
    if (!linked) leader_->on_link_closed(now_, link_of(1));
    say(0, failure(1));
    Join again = join_of(1);
    again.last_round = report_of(1, 1);
    join(1, again);
    say(1, Heartbeat{1, 1, -1, clock_ms()});
    say(0, Stopped{1});
    ASSERT_TRUE(sent<Assign>(0).has_value());
    EXPECT_EQ(policy_.state.restarts_used, 0);
    outputs_.clear();
  }
}

TEST_F(LateMessages, ASuccessThatIsToldTwiceCountsOnce) {
  run_two();
  say(0, Succeeded{1});
  say(0, Succeeded{1});
  EXPECT_FALSE(sent<Finish>(0).has_value());
  say(0, Stopped{1});
  say(1, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(0)->success);
}

TEST_F(LateMessages, TheEndOfALinkThatWasReplacedIsNoLoss) {
  run_two();
  join_on(9, 1);
  outputs_.clear();
  leader_->on_link_closed(now_, link_of(1));
  turn();
  EXPECT_FALSE(output<NodeDial>().has_value());
  pass(9s, {0});
  leader_->on_message(now_, 9, Heartbeat{1, 1, -1, clock_ms()});
  pass(5s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
}

TEST_F(LateMessages, ARefusedDialOfANodeThatCameBackMeanwhileIsNoDeath) {
  run_two();
  leader_->on_link_closed(now_, link_of(1));
  turn();
  const auto dial = output<NodeDial>();
  ASSERT_TRUE(dial.has_value());
  join_on(9, 1);
  leader_->on_dialed(now_, dial->dial, DialResult::kRefused);
  leader_->on_dialed(now_, dial->dial, DialResult::kRefused);
  turn();
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
}

TEST_F(LateMessages, ANodeThatLeavesAndWhoseWorkersSucceededMeanwhileEndsNoRound) {
  run_two();
  say(1, Leaving{"SIGTERM", 4000});
  say(1, Succeeded{1});
  say(1, Goodbye{"preempted"});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  say(0, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(0)->success);
}

TEST_F(LateMessages, ASecondNoticeToLeaveDoesNotMoveItsTime) {
  run_two();
  say(1, Leaving{"SIGTERM", 4000});
  pass(1s, {0, 1});
  say(1, Leaving{"SIGTERM", 60'000});
  pass(1s, {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LateMessages, AfterAGoodbyeTheLinkIsNobodys) {
  run_two();
  say(1, Succeeded{1});
  say(1, Goodbye{"preempted"});
  outputs_.clear();
  say(1, failure(1));
  ASSERT_TRUE(sent<Refuse>(1).has_value());
  EXPECT_EQ(sent<Refuse>(1)->text, "'failed' before joining the job");
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
}

TEST_F(LateMessages, ASecondJoinOfOneLinkIsRefused) {
  lead();
  join(0);
  leader_->on_message(now_, link_of(0), join_of(0));
  turn();
  EXPECT_EQ(sent<Refuse>(0)->text, "'join' without 'hello', or twice");
}

TEST_F(LateMessages, AJoinForAnotherLeaderIsRefused) {
  lead();
  Join join = join_of(0);
  join.leader = 4711;
  LeaderFixture::join(0, join);
  EXPECT_EQ(sent<Refuse>(0)->text, "the join is for another leader");
}

// Its agent was welcomed, said its join and died; that comes after the join of its successor.
TEST_F(LateMessages, AJoinOfWhoWasStartedAgainIsOlderThanItsSuccessors) {
  lead();
  join(0);
  hello(9);
  now_ += 500ms;
  Join successor = join_of(1);
  successor.identity.incarnation = 200;
  join(1, successor);
  say(0, Started{1});
  say(1, Started{1});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  leader_->on_message(now_, 9, join_of(1));
  turn();
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  bool refused = false;
  for (const LeaderOutput& output : outputs_) {
    const auto* closed = std::get_if<leader_output::CloseLink>(&output);
    refused = refused || (closed != nullptr && closed->link == 9);
  }
  EXPECT_TRUE(refused);
}

// The agent gave that link up before it came on the other one.
TEST_F(LateMessages, AnOlderJoinOfTheSameAgentDoesNotTakeItsLink) {
  options_.min_nodes = 2;
  lead();
  hello(9);
  now_ += 500ms;
  join(0);
  Join older = join_of(0);
  older.host = "10.1.0.1";  // that link left by another interface
  leader_->on_message(now_, 9, older);
  turn();
  outputs_.clear();
  join(1);
  EXPECT_TRUE(sent<Assign>(0).has_value());
}

TEST_F(LateMessages, AnythingAfterTheEndIsAnsweredWithIt) {
  run_two();
  for (const int node : {0, 1}) say(node, Succeeded{1});
  outputs_.clear();
  say(0, failure(1));
  say(0, Stopped{1});
  say(0, Leaving{"SIGTERM", 1000});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_FALSE(sent<Finish>(0).has_value());
  join_on(9, 1);
  EXPECT_TRUE(sent<Finish>(8).has_value());
  EXPECT_TRUE(sent<Finish>(8)->success);
}

// The leader took that round, which nobody ran any more, for its own, and did not see how its own
// one ended (found by the simulator, seed 948).
TEST_F(LateMessages, AConfirmedRoundThatIsLaterThanOursEndsIt) {
  run_two();
  Join knows = join_of(2);
  knows.confirmed_round = report_of(2, 7);
  knows.confirmed_round->term = 160;
  join(2, knows);
  EXPECT_TRUE(sent<Refuse>(2));
  EXPECT_TRUE(output<leader_output::StepDown>());
  EXPECT_EQ(leader_->round(), 1u);
}

}  // namespace
}  // namespace muster::rendezvous
