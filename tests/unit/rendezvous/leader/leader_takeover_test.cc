// A leader that comes after another: by the agents' own vote, or elected from outside.
#include <algorithm>

#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;
class LeaderTakeOverTest : public testing::LeaderFixture {
 protected:
  // Node 1's, which was in round 4 with node 0.
  LeaderSeed seed_of_both() {
    LeaderSeed seed = seed_of(33, 1);
    seed.evidence_until = now_ + 10s;
    seed.last_round = report_of(1, 4);
    seed.last_round->roster = {{join_of(0).identity, "10.0.0.1", 29400},
                               {join_of(1).identity, "10.0.0.2", 29400}};
    return seed;
  }
  // Node 0 in round 1.
  void run_alone() {
    lead();
    join(0);
    say(0, Started{1});
    ASSERT_EQ(leader_->state(), LeaderState::kRunning);
    outputs_.clear();
  }
};

// A handover does not tell of it, and who leads next knows only the term that it was welcomed with.
TEST_F(LeaderTakeOverTest, ATermThatWasRaisedLateIsToldToTheNextLeaderByWhoKnowsIt) {
  run_two();
  const Hello stranger{kControlVersion, "job", false, leader_->term() + 16'000'000, {}, {}};
  leader_->on_message(now_, link_of(2), stranger);
  leader_->on_message(now_, link_of(2), join_of(2));
  turn();
  const uint64_t raised = sent<Welcome>(2)->term;
  ASSERT_GE(raised, stranger.term);
  say(0, Goodbye{"preempted"});
  ASSERT_TRUE(sent<Handover>(1).has_value());
  outputs_.clear();
  LeaderSeed seed = seed_of(33, 1);
  seed.last_round = report_of(1, 1);
  seed.ended = {{1, 16, {0}}};
  lead(std::move(seed));
  ASSERT_LT(leader_->term(), raised);
  Join own = join_of(1);
  own.last_round = report_of(1, 1);
  own.last_round->workers = false;
  leader_->on_message(now_, link_of(1), Hello{kControlVersion, "job", false, 16, {}, {}});
  leader_->on_message(now_, link_of(1), own);
  leader_->on_message(now_, link_of(2), Hello{kControlVersion, "job", false, raised, {}, {}});
  leader_->on_message(now_, link_of(2), join_of(2));
  turn();
  EXPECT_GT(sent<Welcome>(2)->term, raised);
  pass(30s, {1, 2});
  ASSERT_TRUE(sent<Assign>(1).has_value());
  EXPECT_GT(sent<Assign>(1)->term, raised) << "who did not know it learns it now";
  ASSERT_TRUE(sent<Assign>(2).has_value());
  EXPECT_EQ(sent<Assign>(2)->term, sent<Assign>(1)->term);
}

TEST_F(LeaderTakeOverTest, AJobThatNobodyNamedKeepsTheNameThatItsFirstLeaderMade) {
  options_.run_id = kUnnamedJob;
  std::string made;
  for (const bool first : {true, false}) {
    outputs_.clear();
    lead(first ? seed_of(16, 0) : seed_of(33, 1));
    for (const int node : {0, 1}) {
      Join again = join_of(node);
      if (!first && node == 0) again.last_round = report_of(0, 1);
      if (!first && node == 0) again.last_round->workers = false;
      // Node 1 was elsewhere, in a round that does not count.
      if (!first) again.job = node == 0 ? made : "job-another";
      leader_->on_message(now_, link_of(node),
                          Hello{kControlVersion, options_.run_id, false, 0, {}, {}});
      leader_->on_message(now_, link_of(node), again);
      turn();
    }
    if (!first) pass(30s, {0, 1});
    ASSERT_TRUE(sent<Assign>(0) && sent<Assign>(1)) << first;
    EXPECT_EQ(sent<Assign>(0)->job, sent<Assign>(1)->job);
    if (first) made = sent<Assign>(1)->job;
    EXPECT_EQ(sent<Assign>(1)->job, made) << first;
    EXPECT_EQ(made, "job-000000000064");
  }
}

// Node 1 was not there when it was said.
TEST_F(LeaderTakeOverTest, AJobThatAnEarlierLeaderToldToEndStartsNoFurtherRound) {
  lead(seed_of(33, 1));
  join(1);
  Join told = join_of(0);
  told.stop = "the end was asked for by 'a'";
  join(0, told);
  for (const int node : {0, 1}) {
    ASSERT_TRUE(sent<Quit>(node)) << node;
    EXPECT_EQ(sent<Quit>(node)->reason, told.stop);
  }
  pass(60s, {0, 1});
  EXPECT_FALSE(sent<Assign>(0) || sent<Assign>(1));
}

TEST_F(LeaderTakeOverTest, AJobWithARunIdGetsNoOtherName) {
  lead();
  for (const int node : {0, 1}) join(node);
  ASSERT_TRUE(sent<Assign>(0));
  EXPECT_EQ(sent<Assign>(0)->job, "");
}

// The newest round was formed without nodes of the one before it, and not known to run: both count.
TEST_F(LeaderTakeOverTest, NodesOfTheConfirmedRoundAreAskedToo) {
  LeaderSeed seed = seed_of(33, 1);
  seed.evidence_until = now_ + 10s;
  seed.confirmed_round = report_of(1, 4);
  seed.confirmed_round->roster = {{join_of(0).identity, "10.0.0.1", 29400},
                                  {join_of(1).identity, "10.0.0.2", 29400}};
  seed.last_round = report_of(1, 5);
  seed.last_round->confirmed = false;
  seed.last_round->roster = {{join_of(2).identity, "10.0.0.3", 29400},
                             {join_of(1).identity, "10.0.0.2", 29400}};
  lead(seed);
  std::vector<std::string> asked;
  for (const LeaderOutput& output : outputs_) {
    if (const auto* dial = std::get_if<NodeDial>(&output)) asked.push_back(dial->host);
  }
  EXPECT_EQ(asked, (std::vector<std::string>{"10.0.0.3", "10.0.0.1"}));
}

// Node 0's end was told by a leader that node 1 followed before, not to this one.
TEST_F(LeaderTakeOverTest, WhoEndedIsToldByWhoJoins) {
  options_.max_nodes = 3;
  for (const bool told : {false, true}) {
    lead(seed_of(33, 2));
    Join report = join_of(1);
    report.candidate = 1;
    report.last_round = report_of(1, 4);
    if (told) report.ended = {{4, 16, {0}}};
    join(1, report);
    join(2);
    pass(3 * options_.lease, {1, 2});
    EXPECT_EQ(sent<Assign>(1).has_value(), told);
    outputs_.clear();
  }
}

// Whoever leads next needs it until round 2 is known to run everywhere.
TEST_F(LeaderTakeOverTest, WhoMayLeadIsToldWithARoundWhoEndedInTheOneBefore) {
  lead();
  for (const int node : {0, 1}) {
    Join candidate = join_of(node);
    candidate.candidate = node;
    join(node, candidate);
  }
  for (const int node : {0, 1}) say(node, Started{1});
  EXPECT_TRUE(sent<Assign>(0)->ended.empty());
  say(1, Goodbye{"preempted"});
  say(0, Stopped{1});
  join(2);
  ASSERT_TRUE(sent<Assign>(2));
  EXPECT_TRUE(sent<Assign>(2)->ended.empty());
  ASSERT_EQ(sent<Assign>(0)->ended.size(), 1u);
  EXPECT_EQ(sent<Assign>(0)->ended[0].round, 1u);
  EXPECT_EQ(sent<Assign>(0)->ended[0].node_ranks, std::vector<int>{1});
}

// Node 1 could not tell that all of round 1 has ended, if it were of round 2 already.
TEST_F(LeaderTakeOverTest, WhoLeavesHandsOverTheRoundThatItWasIn) {
  options_.max_nodes = 1;
  run_alone();
  Join candidate = join_of(1);
  candidate.candidate = 1;
  join(1, candidate);
  join(2);
  say(0, Leaving{"SIGTERM", 4000});
  pass(2s, {0, 1});
  say(0, Stopped{1});
  EXPECT_FALSE(sent<Assign>(1));
  say(0, Goodbye{"preempted"});
  ASSERT_TRUE(sent<Handover>(1));
  ASSERT_EQ(sent<Handover>(1)->ended.size(), 1u);
  EXPECT_EQ(sent<Handover>(1)->ended[0].round, 1u);
  EXPECT_EQ(sent<Handover>(1)->ended[0].node_ranks, std::vector<int>{0});
  ASSERT_TRUE(sent<Handover>(2));
  EXPECT_TRUE(sent<Handover>(2)->ended.empty());  // it will not lead
}

// The peers of those that run are not gone: they are stopped as if nobody was.
TEST_F(LeaderTakeOverTest, ALeaderWhoseWorkersAreThroughTakesNoneAlong) {
  for (const bool through : {true, false}) {
    run_two();
    if (through) say(0, Succeeded{1});
    say(0, Goodbye{"preempted"});
    ASSERT_TRUE(sent<Handover>(1).has_value());
    EXPECT_EQ(sent<Handover>(1)->intact, through);
    outputs_.clear();
    lead(seed_of_both());
    Join own = join_of(1);
    own.last_round = report_of(1, 4);
    own.last_round->workers = true;
    own.last_round->intact = through;
    join(1, own);
    ASSERT_TRUE(sent<Stop>(1).has_value());
    const Duration grace = through ? options_.stop_grace : options_.lost_grace;
    EXPECT_EQ(std::chrono::milliseconds(sent<Stop>(1)->grace_ms), grace);
    outputs_.clear();
  }
}

TEST_F(LeaderTakeOverTest, AfterATakeOverAVerdictIsNotGivenTwiceAndThePauseGoesOn) {
  lead(seed_of(33, 1));
  for (const int node : {0, 1}) {
    Join report = join_of(node);
    report.last_round = report_of(node, 4);
    report.budget.restarts_used = report.budget.restarts_charged = 1;
    report.budget.judged_round = 4;
    report.budget.pause_ms = 3000;
    report.failures = failure(4).failures;
    join(node, report);
  }
  EXPECT_FALSE(sent<Assign>(0).has_value());
  pass(3s, {0, 1});
  EXPECT_EQ(sent<Assign>(0)->budget.restarts_used, 1);
  EXPECT_EQ(policy_.judged, 0u);
}

TEST_F(LeaderTakeOverTest, AfterATakeOverTheBudgetComesFromTheAgentsReports) {
  lead(seed_of(33, 1));
  Join report = join_of(1);
  report.last_round = report_of(1, 4);
  report.budget.restarts_used = report.budget.restarts_charged = 1;
  join(1, report);
  EXPECT_EQ(leader_->state(), LeaderState::kGathering);  // one of two, without the lowest
  Join other = report;
  other.identity = join_of(0).identity;
  other.host = "10.0.0.1";
  other.last_round = report_of(0, 4);
  join(0, other);
  const auto assign = sent<Assign>(0);
  ASSERT_TRUE(assign.has_value());
  EXPECT_EQ(assign->round, 5u);
  EXPECT_EQ(assign->budget.restarts_used, 1);
}

// What ended with the former leader's node were the peers of the others' workers.
TEST_F(LeaderTakeOverTest, ANodeLostWithItsLeaderExplainsTheFailuresOfTheOthers) {
  for (const bool comes : {false, true}) {
    const LeaderSeed seed = seed_of_both();
    lead(seed);
    const auto dial = output<NodeDial>();
    ASSERT_TRUE(dial.has_value());
    Join own = join_of(1);
    own.last_round = seed.last_round;
    own.failures = failure(4).failures;
    join(1, own);
    if (comes) {
      Join other = join_of(0);
      other.last_round = report_of(0, 4);
      join(0, other);
    } else {
      leader_->on_dialed(now_, dial->dial, DialResult::kRefused);
    }
    pass(30s, comes ? std::vector{0, 1} : std::vector{1});
    ASSERT_TRUE(sent<Assign>(1).has_value());
    EXPECT_EQ(sent<Assign>(1)->node_count, comes ? 2 : 1);
    EXPECT_EQ(policy_.state.restarts_used, comes ? 1 : 0);
    outputs_.clear();
  }
}

// Worker 2 had replaced worker 0. Of the next round it only heard that there was one.
TEST_F(LeaderTakeOverTest, ANodeThatMissedItsAssignmentKeepsItsRank) {
  for (const bool others_know : {true, false}) {
    NodeIdentity seat = join_of(0).identity;
    seat.incarnation = join_of(2).identity.incarnation;
    LeaderSeed seed = seed_of(33, 1);
    seed.confirmed_round = report_of(1, 4);
    seed.last_round = report_of(1, 5);
    seed.last_round->confirmed = false;
    seed.elected_safe_at = now_;
    if (others_know)
      seed.last_round->roster = {{seat, "10.0.0.3", 29400},
                                 {join_of(1).identity, "10.0.0.2", 29400}};
    lead(seed);
    Join own = join_of(1);
    own.last_round = seed.last_round;
    own.confirmed_round = seed.confirmed_round;
    join(1, own);
    Join missed = join_of(2);
    missed.last_round = report_of(0, 5);
    missed.last_round->node_rank = -1;
    missed.last_round->seat = {};
    missed.last_round->confirmed = false;
    if (!others_know) {
      missed.confirmed_round = report_of(0, 4);
      missed.confirmed_round->seat = seat;
    }
    join(2, missed);
    pass(options_.lease, {1, 2});  // others may have been in that round
    ASSERT_TRUE(sent<Assign>(2));
    EXPECT_EQ(sent<Assign>(2)->node_rank, 0);
    EXPECT_EQ(sent<Assign>(2)->seat, seat);
    EXPECT_EQ(sent<Assign>(1)->node_rank, 1);
    EXPECT_FALSE(sent<Assign>(1)->seat);  // its own
    outputs_.clear();
  }
}

// Its predecessor on the same address may have been in a later round, which goes on without it.
TEST_F(LeaderTakeOverTest, WhoIsStartedAgainProvesNothingAfterALease) {
  for (const bool soon : {true, false}) {
    const LeaderSeed seed = seed_of_both();
    lead(seed);
    Join own = join_of(1);
    own.last_round = seed.last_round;
    join(1, own);
    pass(soon ? 1s : 11s, {1});
    Join again = join_of(0);
    again.identity.incarnation = 200;
    join(0, again);
    pass(1s, {0, 1});
    EXPECT_EQ(sent<Assign>(1).has_value(), soon);
    outputs_.clear();
  }
}

// The third may have served the former leader for as long as that was in touch with these two.
TEST_F(LeaderTakeOverTest, TheLeaseIsCountedFromTheFormerLeadersLastWord) {
  for (const int former_leader_ms : {10'000, 4'000}) {
    lead(seed_of(33, 0));
    for (const int node : {0, 1}) {
      Join report = join_of(node);
      report.last_round = report_of(node, 4);
      report.last_round->node_count = 3;
      report.former_leader_ms = former_leader_ms;
      join(node, report);
    }
    const auto waits = [this] {
      return std::ranges::any_of(outputs_, [](const LeaderOutput& output) {
        const auto* line = std::get_if<leader_output::Log>(&output);
        return line != nullptr && line->reason == "nodes of the last round may still run elsewhere";
      });
    };
    EXPECT_EQ(waits(), former_leader_ms < 10'000);
    outputs_.clear();
  }
}

// Elected from outside, one of two nodes goes on alone, but not before the other's workers are
// gone.
TEST_F(LeaderTakeOverTest, AnElectedLeaderNeedsNoQuorumButWaits) {
  LeaderSeed seed = seed_of(33, 1);
  seed.elected_safe_at = now_ + 10s;
  lead(seed);
  Join report = join_of(1);
  report.last_round = RoundReport{};
  report.last_round->round = 4;
  report.last_round->term = 16;
  report.last_round->node_count = 2;
  report.last_round->node_rank = 1;
  report.last_round->confirmed = true;
  report.last_round->seat = report.identity;
  join(1, report);
  say(1, Heartbeat{9, 0, -1});
  EXPECT_TRUE(sent<Ack>(1));
  pass(9500ms, {1});
  EXPECT_FALSE(sent<Assign>(1));
  pass(20s, {1});  // and the policy's time for a successor
  ASSERT_TRUE(sent<Assign>(1));
  EXPECT_EQ(sent<Assign>(1)->node_count, 1);
}

TEST_F(LeaderTakeOverTest, AnElectedLeaderWithoutAnyKnowledgeWaits) {
  LeaderSeed seed = seed_of(33, 0);
  seed.elected_safe_at = now_ + 10s;
  lead(seed);
  join(0);
  join(1);
  EXPECT_FALSE(sent<Assign>(0));
  pass(9500ms, {0, 1});
  EXPECT_FALSE(sent<Assign>(0));
  pass(1s, {0, 1});
  EXPECT_TRUE(sent<Assign>(0));
}

// Else the two that it left out could form another round with a leader that knows of the first, and
// counts ends of others (within a lease) that were in this one before.
TEST_F(LeaderTakeOverTest, ASmallerRoundIsConfirmedOnceAllThatItLeftOutKnowOfIt) {
  for (const bool silent : {false, true}) {
    policy_.max_restarts = 2;
    options_.min_nodes = 1;
    options_.max_nodes = 3;
    lead();
    for (const int node : {0, 1, 2}) join(node);
    for (const int node : {0, 1, 2}) say(node, Started{1});
    say(1, Succeeded{1});
    EXPECT_TRUE(leader_->follow_list(1).has_value());
    say(2, failure(1));
    for (const int node : {0, 2}) say(node, Stopped{1});
    ASSERT_EQ(sent<Assign>(0)->node_count, 1);
    for (const int node : {1, 2}) EXPECT_TRUE(sent<Waiting>(node)->spare);
    say(0, Started{2});
    EXPECT_EQ(leader_->state(), LeaderState::kRunning);
    const auto confirmed = [this] {
      say(0, Heartbeat{1, 2, -1, clock_ms()});
      return sent<Ack>(0)->confirmed;
    };
    EXPECT_EQ(confirmed(), 1U);
    say(1, Heartbeat{1, 2, -1, clock_ms()});
    EXPECT_EQ(confirmed(), 1U) << "a quorum knows, but not node 2";
    if (silent) {
      pass(options_.lease, {0, 1});
    } else {
      say(2, Heartbeat{1, 2, -1, clock_ms()});
    }
    EXPECT_EQ(confirmed(), 2U);
    outputs_.clear();
  }
}

// A spare that leads knows of a round's nodes only what those tell that come.
TEST_F(LeaderTakeOverTest, NodesThatAreHeardOfLaterAreAskedToo) {
  LeaderSeed seed = seed_of(33, 2);
  seed.evidence_until = now_ + 10s;
  seed.last_round = report_of(1, 4);
  seed.last_round->node_rank = -1;
  lead(seed);
  EXPECT_FALSE(output<NodeDial>());
  Join report = join_of(1);
  report.last_round = seed_of_both().last_round;
  join(1, report);
  pass(2s, {1});
  ASSERT_TRUE(output<NodeDial>());
  EXPECT_EQ(output<NodeDial>()->host, "10.0.0.1");
}

// It may be started again, or end later: the last word on it is not that it was there.
TEST_F(LeaderTakeOverTest, WhoIsMissingIsAskedUntilItsEndProvesNothing) {
  lead(seed_of_both());
  const auto asked = [this] {
    const auto dial = output<NodeDial>();
    outputs_.clear();
    return dial ? dial->host : "";
  };
  join(1);
  EXPECT_EQ(asked(), "10.0.0.1");
  pass(2s, {1});
  EXPECT_EQ(asked(), "10.0.0.1");
  pass(9s, {1});
  (void)asked();
  pass(9s, {1});
  EXPECT_EQ(asked(), "");
}

// Of another leader, whose round has the same number: what it answers to our word tells.
TEST_F(LeaderTakeOverTest, WhoKnewAnotherRoundOfTheSameNumberHearsOfOurs) {
  options_.min_nodes = 2;
  options_.max_nodes = 3;
  const auto report = [](int index, uint64_t round, bool confirmed) {
    RoundReport told = report_of(index, round);
    told.node_count = 3;
    told.confirmed = confirmed;
    for (const int node : {0, 1, 2}) {
      const Join join = join_of(node);
      told.roster.push_back({join.identity, join.host, join.port});
    }
    return told;
  };
  LeaderSeed seed = seed_of(32, 0);
  seed.last_round = report(0, 6, true);
  lead(seed);
  for (const int node : {0, 1}) {
    Join join = join_of(node);
    join.last_round = report(node, 6, true);
    this->join(node, join);
  }
  pass(60s, {0, 1});
  ASSERT_TRUE(sent<Assign>(1));
  ASSERT_EQ(sent<Assign>(1)->round, 7U);
  outputs_.clear();
  Join late = join_of(2);
  late.last_round = report(2, 7, false);
  late.confirmed_round = report(2, 6, true);
  join(2, late);
  ASSERT_TRUE(sent<Waiting>(2));
  const int64_t welcomed = clock_ms();
  for (const int node : {0, 1}) say(node, Started{7});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  now_ += 500ms;
  say(2, Heartbeat{1, 7, -1, welcomed});
  say(0, Heartbeat{1, 7, -1, clock_ms()});
  EXPECT_EQ(sent<Ack>(0)->confirmed, 6U) << "it may not have heard of ours yet";
  say(2, Heartbeat{2, 7, -1, clock_ms()});
  say(0, Heartbeat{2, 7, -1, clock_ms()});
  EXPECT_EQ(sent<Ack>(0)->confirmed, 7U);
}

}  // namespace
}  // namespace muster::rendezvous
