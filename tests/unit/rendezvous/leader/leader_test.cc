#include "rendezvous/leader/leader.h"

#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
class LeaderTest : public testing::LeaderFixture {
 protected:
  // What was said of nodes that came.
  std::vector<std::string> joined(log::Level level = log::Level::kInfo) {
    std::vector<std::string> lines;
    for (const LeaderOutput& output : outputs_) {
      const auto* line = std::get_if<leader_output::Log>(&output);
      if (line != nullptr && line->event == kEventNodeJoined && line->level == level)
        lines.push_back(line->reason);
    }
    return lines;
  }
};

TEST_F(LeaderTest, WhereOthersReachTheOwnNodeCountsFromTheNextRoundOn) {
  lead();
  leader_->on_own_host("10.9.9.9");  // it has not joined
  Join own = join_of(0);
  own.host = "127.0.0.1";
  join(0, own);
  leader_->on_own_host("10.9.9.9");
  join(1);
  ASSERT_TRUE(sent<Assign>(1));
  EXPECT_EQ(sent<Assign>(1)->master_host, "10.9.9.9");
}

TEST_F(LeaderTest, AssignsWhenTheLastOfMaxHasJoined) {
  lead();
  join(1);
  EXPECT_EQ(leader_->state(), LeaderState::kLastCall);
  join(0);
  ASSERT_EQ(leader_->state(), LeaderState::kAssigned);
  const auto assign = sent<Assign>(1);
  ASSERT_TRUE(assign.has_value());
  EXPECT_EQ(assign->node_rank, 1);
  EXPECT_EQ(assign->world_size, 2);
  EXPECT_EQ(assign->master_host, "10.0.0.1");
  EXPECT_EQ(assign->roster.size(), 2u);
}

TEST_F(LeaderTest, WhoComesIsToldOnceWhatIsAwaited) {
  lead();
  join(0);
  int told = 0;
  for (const LeaderOutput& output : outputs_) {
    const auto* send = std::get_if<leader_output::Send>(&output);
    if (send != nullptr && std::holds_alternative<Waiting>(send->message)) ++told;
  }
  EXPECT_EQ(told, 1);
}

TEST_F(LeaderTest, WhoHasGreetedIsWaitedForButNotForLong) {
  options_.min_nodes = options_.max_nodes = 2;
  lead();
  const Hello hello{kControlVersion, "job", false, 0, {}, {}};
  say(1, hello);
  join(0);
  EXPECT_FALSE(sent<Waiting>(0));
  pass(10ms, {});
  EXPECT_TRUE(sent<Waiting>(0));

  outputs_.clear();
  lead();
  say(1, hello);
  join(0);
  EXPECT_FALSE(sent<Waiting>(0));
  say(1, join_of(1));
  EXPECT_TRUE(sent<Assign>(0));
}

TEST_F(LeaderTest, OfALargeJobOnlyTheFirstNodesAreNamed) {
  run_two();
  for (int i = 2; i < 100; ++i) join(i);
  pass(1s, {0, 1});
  size_t named = 0;
  for (const std::string& line : joined()) named += split(line, ',').size();
  EXPECT_EQ(named, 62U);  // and two were there
}

TEST_F(LeaderTest, NodesThatComeAtATimeAreNamedInOneLine) {
  lead();
  for (const int node : {0, 1}) {
    leader_->on_message(now_, link_of(node), Hello{kControlVersion, "job", false, 0, {}, {}});
    leader_->on_message(now_, link_of(node), join_of(node));
  }
  turn();
  EXPECT_EQ(joined(log::Level::kDebug),
            std::vector<std::string>{"worker-0 (index 0), worker-1 (index 1)"});
  EXPECT_TRUE(joined().empty());  // who is in the first round is told when it runs
}

TEST_F(LeaderTest, SuccessOfAllEndsTheJobAtOnce) {
  run_two();
  say(0, Succeeded{1});
  EXPECT_FALSE(sent<Finish>(0).has_value());
  say(1, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(0)->success);
  EXPECT_TRUE(sent<Finish>(1)->success);
  say(0, Goodbye{"all succeeded"});
  EXPECT_FALSE(output<leader_output::Finished>().has_value());  // one has not heard of it yet
  say(1, Goodbye{"all succeeded"});
  EXPECT_TRUE(output<leader_output::Finished>().has_value());
}

TEST_F(LeaderTest, WhereTheFirstNodeDecidesItsSuccessIsThatOfAll) {
  options_.rule.decides = Decides::kFirstNode;
  run_two();
  say(1, Succeeded{1});
  EXPECT_FALSE(sent<Finish>(0).has_value());
  say(0, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(0)->success);
  EXPECT_EQ(sent<Finish>(1)->reason, "the launcher succeeded");
}

TEST_F(LeaderTest, WhereTheFirstNodeDecidesALossIsStillALoss) {
  options_.rule.decides = Decides::kFirstNode;
  run_two();
  say(1, Goodbye{"preempted"});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderTest, AJobHasOneLauncher) {
  options_.rule.first = FirstNode::kAppointed;
  lead();
  Join launcher = join_of(0);
  launcher.node_rank = 0;
  launcher.local_world_size = 0;
  join(0, launcher);
  Join other = join_of(1);
  other.node_rank = 0;
  join(1, other);
  ASSERT_TRUE(sent<Refuse>(1).has_value());
  EXPECT_EQ(sent<Refuse>(1)->code, RefuseCode::kSettings);
  EXPECT_EQ(sent<Refuse>(1)->text,
            "worker-1 (index 1) starts the ranks as well as worker-0 (index 0): a job has one "
            "launcher");
  // The same place again: it was replaced.
  launcher.identity.incarnation += 100;
  join(2, launcher);
  EXPECT_FALSE(sent<Refuse>(2).has_value());
}

TEST_F(LeaderTest, TwoAgentsOfOneMachineAndNameAreTwoNodes) {
  for (const bool numbered : {true, false}) {
    lead();
    for (const int node : {0, 1}) {
      Join same = join_of(node);
      same.identity.name = "worker";
      same.host = "10.0.0.1";
      if (!numbered) {
        same.identity.index.reset();
        same.port += node;
      }
      join(node, same);
    }
    ASSERT_TRUE(sent<Assign>(0).has_value());
    EXPECT_EQ(sent<Assign>(0)->node_count, 2);
    outputs_.clear();
  }
}

TEST_F(LeaderTest, ANodeThatWasAwayAtTheEndGetsALeaseToAsk) {
  run_two();
  say(0, Succeeded{1});
  say(1, Succeeded{1});
  say(0, Goodbye{"all succeeded"});
  pass(9500ms, {});
  EXPECT_FALSE(output<leader_output::Finished>().has_value());
  outputs_.clear();
  Join late = join_of(1);
  late.last_round = report_of(1, 1);
  join(1, late);
  EXPECT_TRUE(sent<Finish>(1)->success);
}

TEST_F(LeaderTest, ANodeLostAfterItsSuccessDoesNotEndTheRound) {
  run_two();
  say(1, Succeeded{1});
  say(1, Goodbye{"preempted"});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  say(0, Succeeded{1});
  EXPECT_TRUE(sent<Finish>(0)->success);
}

TEST_F(LeaderTest, AFailureAfterANodeSucceededAndWentStillEndsTheRound) {
  run_two();
  say(1, Succeeded{1});
  say(1, Goodbye{"preempted"});
  say(0, failure(1));
  say(0, Stopped{1});
  EXPECT_EQ(leader_->state(), LeaderState::kLastCall);  // for a successor of the node that went
  EXPECT_EQ(policy_.state.restarts_used, 1);
}

TEST_F(LeaderTest, AFirstRoundOfFewerThanAllGivesMembersOfAForgottenJobTimeToCome) {
  options_.last_call = 0s;
  lead();
  join(0);
  EXPECT_EQ(leader_->state(), LeaderState::kGathering);
  pass(3s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kAssigned);
}

TEST_F(LeaderTest, AllKnowTheVerdictAndThePauseBeforeTheRestart) {
  policy_.delay = 5s;
  fail_two();
  const auto waiting = sent<Waiting>(1);
  ASSERT_TRUE(waiting.has_value());
  EXPECT_EQ(waiting->last.budget.judged_round, 1u);
  EXPECT_EQ(waiting->last.budget.pause_ms, 5000);
  pass(4500ms, {0, 1});
  EXPECT_FALSE(sent<Assign>(1).has_value());
  pass(1s, {0, 1});
  EXPECT_EQ(sent<Assign>(1)->round, 2u);
}

TEST_F(LeaderTest, AFailureStopsEveryNodeAndTheSameMembersGoOnWithoutWaiting) {
  run_two();
  say(1, failure(1));
  EXPECT_EQ(sent<Stop>(0)->round, 1u);
  say(1, Stopped{1});
  outputs_.clear();
  say(0, Stopped{1});
  EXPECT_EQ(sent<Assign>(0)->round, 2u);
  EXPECT_EQ(sent<Assign>(1)->node_rank, 1);
  EXPECT_EQ(sent<Assign>(1)->budget.restarts_used, 1);
}

TEST_F(LeaderTest, WithoutBudgetEveryNodeLearnsTheFirstFailure) {
  policy_.max_restarts = 0;
  run_two();
  say(1, failure(1));
  say(1, Stopped{1});
  now_ += 1s;
  say(0, Stopped{1});
  for (const int node : {0, 1}) {
    const auto finish = sent<Finish>(node);
    ASSERT_TRUE(finish.has_value());
    EXPECT_EQ(finish->first->age_ms, 1000);
    EXPECT_FALSE(finish->success);
    EXPECT_EQ(finish->exit_code, 3);
    EXPECT_EQ(finish->first->reason, "exit code 3 (user error)");
  }
}

TEST_F(LeaderTest, SilenceIsSuspectedThenExpelled) {
  run_two();
  pass(500ms, {0});
  EXPECT_FALSE(suspects());
  pass(500ms, {0});  // a tenth of the lease
  EXPECT_TRUE(suspects());
  pass(8500ms, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(500ms, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  EXPECT_EQ(sent<Stop>(0)->grace_ms, 2000);
  EXPECT_EQ(policy_.judged, 0u);
}

TEST_F(LeaderTest, WithTheUsualLeaseANodeIsSuspectAfterThreeSeconds) {
  options_.lease = JobOptions{}.lease;
  ASSERT_EQ(options_.lease, Duration(30s));
  const Duration heartbeat = lease_times(options_.lease).heartbeat;
  ASSERT_EQ(heartbeat, Duration(1200ms));
  run_two();
  const TimePoint silent = now_;
  pass(2500ms, {0});
  now_ += 499ms;
  turn();
  EXPECT_FALSE(suspects());
  // Whoever runs it calls no later than it asked for, even if nobody else speaks.
  ASSERT_TRUE(leader_->next_deadline().has_value());
  EXPECT_LE(*leader_->next_deadline(), silent + 3s);
  now_ = silent + 3s + heartbeat;
  turn();
  EXPECT_TRUE(suspects());
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(25s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(1s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderTest, ALeaderThatSleptForALeaseLeadsNoMore) {
  lead();
  join(0);
  now_ += 11s;
  turn();
  EXPECT_TRUE(output<leader_output::StepDown>().has_value());
}

TEST_F(LeaderTest, StepsOfTheRoundProveThatASilentNodeLives) {
  run_two();
  for (int i = 0; i < 10; ++i) {
    pass(2s, {0});
    leader_->on_step(now_, 1, i);
  }
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
}

TEST_F(LeaderTest, ABrokenConnectionIsDialledAndARefusalIsDeath) {
  run_two();
  leader_->on_link_closed(now_, link_of(1));
  turn();
  const auto dial = output<NodeDial>();
  ASSERT_TRUE(dial.has_value());
  EXPECT_EQ(dial->host, "10.0.0.2");
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  leader_->on_dialed(now_, dial->dial, DialResult::kRefused);
  turn();
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderTest, ABrokenConnectionThatAnswersIsLeftToTheLease) {
  run_two();
  leader_->on_link_closed(now_, link_of(1));
  turn();
  leader_->on_dialed(now_, output<NodeDial>()->dial, DialResult::kConnected);
  pass(5s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(6s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderTest, WithoutAQuorumNothingIsAcknowledgedAndItStepsDown) {
  lead();
  join(0);
  join(1);
  say(0, Started{1});
  say(1, Started{1});
  pass(3s, {1});
  outputs_.clear();
  say(1, Heartbeat{9, 1, -1});
  EXPECT_TRUE(sent<Ack>(1)->in_vain);  // half of the nodes, without the lowest
  pass(20s, {1});
  EXPECT_TRUE(output<leader_output::StepDown>().has_value());
}

TEST_F(LeaderTest, HeartbeatsThatANetworkHeldBackAreNoQuorum) {
  run_two();
  pass(2s, {1});
  const int64_t then = clock_ms();
  pass(3s, {1});
  // Node 0 sent these two seconds after the leader spoke last to it, and may follow another now.
  for (int i = 0; i < 3; ++i) say(0, Heartbeat{1, 0, -1, 0});
  say(1, Heartbeat{9, 1, -1, clock_ms()});
  EXPECT_TRUE(sent<Ack>(1)->in_vain);
  say(0, Heartbeat{1, 0, -1, then + 2900});
  say(1, Heartbeat{10, 1, -1, clock_ms()});
  EXPECT_FALSE(sent<Ack>(1)->in_vain);
}

TEST_F(LeaderTest, ANewNodeIsASpareUntilGrowthIsDue) {
  options_.max_nodes = 3;
  options_.last_call = 0s;
  lead();
  join(0);
  pass(3s, {0});
  say(0, Started{1});
  join(1);
  EXPECT_TRUE(sent<Waiting>(1)->spare);
  policy_.grow_at = now_ + 3s;
  leader_->on_message(now_, link_of(1), Goodbye{"x"});
  join(1);
  pass(4s, {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  say(0, Stopped{1});
  EXPECT_EQ(sent<Assign>(1)->node_count, 2);
}

TEST_F(LeaderTest, ALeavingNodeIsAnnouncedAndTheRestGoOn) {
  run_two();
  say(1, Leaving{"SIGTERM", 4000});
  EXPECT_EQ(sent<Notice>(0)->leaver, "worker-1");
  EXPECT_FALSE(sent<Notice>(1).has_value());  // its workers have been told
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(2s, {0, 1});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  say(1, Stopped{1});
  say(1, Goodbye{"preempted"});
  say(0, Stopped{1});
  pass(21s, {0});
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
  EXPECT_EQ(policy_.state.restarts_used, 0);
}

// Peers that fail or leave took their time, too; the workers of a lost node took nobody's.
TEST_F(LeaderTest, OnlyALostNodeCutsTheTimeToSaveShort) {
  run_two();
  say(1, Leaving{"SIGTERM", 60'000});
  say(1, Stopped{1});
  EXPECT_EQ(sent<Stop>(0)->grace_ms, 30'000);
  lead();
  run_two();
  outputs_.clear();
  say(1, failure(1));
  EXPECT_EQ(sent<Stop>(0)->grace_ms, 30'000);
  lead();
  run_two();
  outputs_.clear();
  say(1, Stopped{1});
  EXPECT_EQ(sent<Stop>(0)->grace_ms, 2000);
}

TEST_F(LeaderTest, StrangersAreRefusedWithOneLine) {
  lead();
  leader_->on_message(now_, 7, Hello{kControlVersion, "other", false, 0, {}, {}});
  leader_->on_message(now_, 8, Hello{99, "job", false, 0, {}, {}});
  leader_->on_message(now_, 9, Hello{kControlVersion, "job", true, 0, {}, {}});
  leader_->on_message(now_, 10, Started{1});
  turn();
  std::vector<RefuseCode> codes;
  for (const LeaderOutput& output : outputs_) {
    const auto* send = std::get_if<leader_output::Send>(&output);
    const auto* refuse = send ? std::get_if<Refuse>(&send->message) : nullptr;
    if (refuse != nullptr) codes.push_back(refuse->code);
  }
  EXPECT_EQ(codes, (std::vector{RefuseCode::kRunId, RefuseCode::kVersion, RefuseCode::kSecret,
                                RefuseCode::kBadJoin}));
}

TEST_F(LeaderTest, WhatAPeerReportsCannotHoldUpTheJobForLong) {
  options_.max_nodes = 1;
  lead();
  Join stranger = join_of(0);
  stranger.budget.judged_round = 1000;  // of a round that nobody was in
  stranger.budget.pause_ms = 1'000'000'000;
  join(0, stranger);
  EXPECT_TRUE(sent<Assign>(0).has_value());
  EXPECT_EQ(sent<Assign>(0)->round, 1u);
}

TEST_F(LeaderTest, TooFewNodesEndAtTheJoinTimeoutWithNames) {
  options_.min_nodes = 2;
  options_.join_timeout = 30s;
  lead();
  join(0);
  pass(31s, {0});
  const auto finish = sent<Finish>(0);
  ASSERT_TRUE(finish.has_value());
  EXPECT_EQ(finish->exit_code, 69);
  EXPECT_EQ(finish->reason, "no round within 30 s: 1 of 2 nodes; here: worker-0 (index 0)");
}

TEST_F(LeaderTest, WithTheLeastNodesTheJoinTimeoutEndsNothing) {
  options_.lease = 30s;
  options_.last_call = 1s;
  options_.join_timeout = 3s;
  lead();
  join(0);
  pass(4s, {0});  // members of a forgotten job may still come
  EXPECT_FALSE(sent<Finish>(0).has_value());
  pass(2s, {0});
  ASSERT_TRUE(sent<Assign>(0).has_value());
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
}

TEST_F(LeaderTest, WhoComesAfterTheJoinTimeoutMakesTheLastCallNoLonger) {
  options_.max_nodes = 4;
  options_.last_call = 10s;
  options_.join_timeout = 3s;
  lead();
  join(0);
  pass(2s, {0});
  join(1);
  pass(9s, {0, 1});
  join(2);
  EXPECT_FALSE(sent<Assign>(0).has_value());
  pass(2s, {0, 1, 2});
  ASSERT_TRUE(sent<Assign>(0).has_value());
  EXPECT_EQ(sent<Assign>(0)->node_count, 3);
}

TEST_F(LeaderTest, ATargetBelowTheSizeShrinksTheRound) {
  run_two();
  EXPECT_FALSE(leader_->follow_list(3).has_value());
  EXPECT_TRUE(leader_->follow_list(1).has_value());
  turn();
  say(0, Stopped{1});
  say(1, Stopped{1});
  EXPECT_EQ(sent<Assign>(0)->node_count, 1);
  EXPECT_EQ(sent<Assign>(0)->round, 2u);
}

}  // namespace
}  // namespace muster::rendezvous
