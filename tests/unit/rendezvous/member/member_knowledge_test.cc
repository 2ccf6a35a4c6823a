// What a member that begins to lead knows of the rounds before (LeaderSeed).
#include <gtest/gtest.h>

#include "rendezvous/member/member.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using member_output::BecomeLeader;
using std::chrono::seconds;

class MemberKnowledgeTest : public testing::MemberFixture {
 protected:
  // The first is known to have run everywhere. Node 0 leads.
  void run_two_rounds() {
    begin(1);
    welcome();
    run_round(1);
    member_->on_message(now_, 0, Ack{1, 1});
    for (const uint64_t round : {uint64_t{1}, uint64_t{2}}) {
      if (round == 2) run_round(round);
      member_->on_message(now_, 0, Stop{round, 0, "lost"});
      member_->on_gone(now_, round);
    }
  }
  // Nodes 0, 1, 2, ... Node 0 leads.
  void run_many(uint64_t nodes) {
    welcome();
    Assign assign;
    assign.round = 1;
    assign.term = 16;
    assign.node_rank = 1;
    assign.node_count = static_cast<int>(nodes);
    for (uint64_t node = 0; node < nodes; ++node)
      assign.roster.push_back({.identity = {"worker-" + std::to_string(node), {}, 76 + node},
                               .host = "10.0.0." + std::to_string(node + 1),
                               .port = 29400});
    member_->on_message(now_, 0, assign);
    member_->on_prepared(now_, 1);
    member_->on_started(now_, 1);
    (void)output<NodeDial>();
    outputs_.clear();
  }
  // Node 0 is lost.
  LeaderSeed lead_next() {
    outputs_.clear();
    member_->on_link_closed(now_, 0);
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    const auto lead = output<BecomeLeader>();
    EXPECT_TRUE(lead);
    return lead ? lead->seed : LeaderSeed{};
  }
};

// As the spare of round 2, whose node rank 0 left with its leader; round 3 is another's.
TEST_F(MemberKnowledgeTest, WhoWasGoneFromOneRoundMayBeInTheNext) {
  begin(1);
  welcome();
  Waiting spare{.spare = true, .last = {2, 16, 2, true, {}}, .reason = ""};
  member_->on_message(now_, 0, spare);
  member_->on_message(now_, 0, Handover{{16, 2}, {{2, 16, {0}}}, "its node leaves"});
  welcome();
  spare.last.round = 3;
  member_->on_message(now_, 0, spare);
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  EXPECT_EQ(lead->seed.last_round->round, 3u);
  ASSERT_EQ(lead->seed.ended.size(), 1u);
  EXPECT_EQ(lead->seed.ended[0].round, 2u);  // not of the last
}

// Of round 2: who of it ended is found out by dialling them, and counts.
TEST_F(MemberKnowledgeTest, ASpareThatMayLeadKnowsTheNodesOfTheRound) {
  begin(1);
  welcome();
  RosterPart part{2, 16, std::vector<RosterEntry>(1)};
  part.nodes[0].identity.incarnation = 4711;
  member_->on_message(now_, 0, part);
  member_->on_message(now_, 0, Waiting{.spare = true, .last = {2, 16, 1, true, {}}, .reason = ""});
  const LeaderSeed seed = lead_next();
  ASSERT_TRUE(seed.last_round && seed.last_round->roster.size() == 1U);
  EXPECT_EQ(seed.last_round->roster[0].identity.incarnation, 4711U);
}

// Whoever ended in round 3 may have helped that one to run, of which nothing is known here.
TEST_F(MemberKnowledgeTest, WhoKnewOfALaterRoundIsNotCountedAsGone) {
  begin(1);
  welcome();
  member_->on_message(now_, 0, Waiting{.spare = true, .last = {2, 16, 2, true, {}}, .reason = ""});
  member_->on_message(now_, 0, Handover{{16, 3}, {{2, 16, {0}}}, "its node leaves"});
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  EXPECT_TRUE(lead->seed.ended.empty());
}

TEST_F(MemberKnowledgeTest, TheNextLeaderHearsThatTheRoundIsIntact) {
  for (const uint64_t round : {2U, 3U}) {
    begin(1);
    welcome();
    run_round(2);
    Handover handover{{16, round}, {}, "its node leaves"};
    handover.intact = true;
    member_->on_message(now_, 0, handover);
    EXPECT_EQ(lead_next().last_round->intact, round == 2);
  }
}

TEST_F(MemberKnowledgeTest, TheNextLeaderHearsThatAWorkerOfAnyNodeHasDecided) {
  begin(1);
  welcome();
  run_round(1);
  member_->on_message(now_, 0, Decided{7, {true, "of another round"}});
  EXPECT_FALSE(lead_next().last_round->decision);
  begin(1);
  welcome();
  run_round(1);
  member_->on_message(now_, 0, Decided{1, {false, "the chief (rank 0) succeeded"}});
  member_->on_message(now_, 0, Handover{{16, 1}, {{1, 16, {0}}}, "its node leaves", true, true});
  welcome();
  ASSERT_TRUE(sent<Join>()->last_round->decision);
  EXPECT_EQ(sent<Join>()->last_round->decision->reason, "the chief (rank 0) succeeded");
  member_->on_message(now_, 0, Stop{1, 0, "its leader is gone"});
  member_->on_gone(now_, 1);
  run_round(2);
  EXPECT_FALSE(lead_next().last_round->decision) << "it was of the round before";
}

// The leader of round 3 knew that node rank 0 of round 2 had ended. Were it lost before round 3 is
// known to run everywhere, nobody else could tell.
TEST_F(MemberKnowledgeTest, TheNextLeaderHearsWhatTheJobIsCalled) {
  begin({});
  welcome();
  EXPECT_EQ(sent<Join>()->job, "");
  Assign assign;
  assign.round = 1;
  assign.term = 16;
  assign.job = "job-1";
  member_->on_message(now_, 0, assign);
  outputs_.clear();
  member_->on_link_closed(now_, 0);
  welcome();
  ASSERT_TRUE(sent<Join>());
  EXPECT_EQ(sent<Join>()->job, "job-1");
}

TEST_F(MemberKnowledgeTest, TheNextLeaderHearsThatTheJobIsToEnd) {
  begin({});
  welcome();
  run_round(1);
  member_->on_message(now_, 0, Quit{"the end was asked for by 'a'"});
  member_->on_shutdown(now_, seconds(30), "got SIGTERM");
  outputs_.clear();
  member_->on_link_closed(now_, 0);
  welcome();
  ASSERT_TRUE(sent<Join>());
  EXPECT_EQ(sent<Join>()->stop, "the end was asked for by 'a'");
}

TEST_F(MemberKnowledgeTest, ARoundTellsWhoEndedInTheOneBefore) {
  begin(1);
  welcome();
  run_round(2);
  member_->on_message(now_, 0, Ack{1, 2});
  member_->on_message(now_, 0, Stop{2, 0, "lost"});
  member_->on_gone(now_, 2);
  Assign next;
  next.round = 3;
  next.term = 16;
  next.node_count = 2;
  next.ended = {{2, 16, {0}}, {1, 16, {1}}};
  member_->on_message(now_, 0, next);
  member_->on_link_closed(now_, 0);
  member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
  const auto lead = output<BecomeLeader>();
  ASSERT_TRUE(lead);
  ASSERT_EQ(lead->seed.ended.size(), 1u);
  EXPECT_EQ(lead->seed.ended[0].round, 2u);
}

// It was frozen while round 6 was formed without it, and comes back with workers of round 4.
// Whoever led round 6 and ended was in round 4, too (found by the simulator, seed 8556).
TEST_F(MemberKnowledgeTest, ARoundThatIsToldWhileWorkersAreStoppedCounts) {
  for (const bool gone : {false, true}) {
    begin(1);
    welcome();
    run_round(4);
    member_->on_message(now_, 0, Ack{1, 4});
    member_->on_message(now_, 0, Stop{4, 0, "of a former round"});
    member_->on_message(now_, 0, Waiting{false, {6, 16, 3, false, {}}, ""});
    member_->on_message(now_, 0, Ack{2, 6});
    if (gone) member_->on_gone(now_, 4);
    const LeaderSeed seed = lead_next();
    ASSERT_TRUE(seed.last_round);
    EXPECT_EQ(seed.last_round->round, 6u);
    EXPECT_EQ(seed.last_round->node_rank, -1);
    EXPECT_EQ(seed.last_round->node_count, 3);
    EXPECT_TRUE(seed.last_round->confirmed);
    ASSERT_TRUE(seed.confirmed_round);
    EXPECT_EQ(seed.confirmed_round->round, 4u);
    // What it still has to stop is of round 4.
    member_->on_connected(now_, 1);
    outputs_.clear();
    member_->on_message(now_, 1,
                        Welcome{kControlVersion, "job", false, seed.term, "worker-1", 10000});
    const auto join = sent<Join>();
    ASSERT_TRUE(join && join->last_round);
    EXPECT_EQ(join->last_round->round, gone ? 6u : 4u);
    EXPECT_EQ(join->last_round->workers, !gone);
  }
}

// Round 2 ran everywhere and ended before a heartbeat told of it.
TEST_F(MemberKnowledgeTest, ARoundTellsThatTheOneBeforeRanEverywhere) {
  for (const bool told : {false, true}) {
    run_two_rounds();
    Assign next;
    next.round = 3;
    next.term = 32;
    next.node_count = 2;
    next.ended = {{2, 16, {0}}};
    if (told) {
      next.confirmed = 2;
      next.confirmed_term = 16;
    }
    member_->on_message(now_, 0, next);
    const LeaderSeed seed = lead_next();
    ASSERT_TRUE(seed.confirmed_round);
    EXPECT_EQ(seed.confirmed_round->round, told ? 2u : 1u);
    EXPECT_EQ(seed.ended.size(), told ? 1u : 0u);
  }
}

TEST_F(MemberKnowledgeTest, SoDoWhoHandsOverAndWhoRefuses) {
  for (const bool handed_over : {false, true}) {
    run_two_rounds();
    if (handed_over) {
      member_->on_message(now_, 0, Handover{{16, 2}, {{2, 16, {0}}}, "", true});
    } else {
      member_->on_link_closed(now_, 0);
      member_->on_connected(now_, 0);
      member_->on_message(now_, 0, Refuse{RefuseCode::kNotLeader, "", 0, {2, 16, 2, true, {}}});
    }
    const LeaderSeed seed = lead_next();
    ASSERT_TRUE(seed.last_round);
    EXPECT_EQ(seed.last_round->round, 2u);
    EXPECT_TRUE(seed.last_round->confirmed);
    EXPECT_FALSE(seed.confirmed_round);
  }
}

TEST_F(MemberKnowledgeTest, ALauncherThatWasMetAndLostItsNameMayRun) {
  for (const bool elastic : {false, true}) {
    options_.rule.takes_part = elastic ? TakesPart::kLeadersNode : TakesPart::kEveryNode;
    begin(1);
    outputs_.clear();
    welcome();
    member_->on_message(now_, 0, Waiting{true, {5, 16, 1, true, {}}, "spare"});
    member_->on_link_closed(now_, 0);
    for (int second = 0; second < 40 && !output<BecomeLeader>(); ++second) {
      now_ += std::chrono::milliseconds(500);
      member_->on_tick(now_);
      member_->on_dial_failed(now_, 0, DialFailure::kNoName, "NXDOMAIN");
    }
    const auto lead = output<BecomeLeader>();
    ASSERT_TRUE(lead);
    EXPECT_EQ(lead->seed.uncertain, elastic);
  }
}

// It may have launched since then, and be out of reach.
TEST_F(MemberKnowledgeTest, WhoFollowedAnotherLeaderLetItLead) {
  for (const uint64_t leader : {incarnation_, uint64_t{4711}}) {
    begin(1);
    outputs_.clear();
    member_->on_connected(now_, 0);
    Welcome greeting{kControlVersion, "job", false, 16, "worker-0", 10000};
    greeting.incarnation = leader;
    member_->on_message(now_, 0, greeting);
    member_->on_link_closed(now_, 0);
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    const auto lead = output<BecomeLeader>();
    ASSERT_TRUE(lead);
    EXPECT_EQ(lead->seed.yielded, leader != incarnation_);
  }
}

TEST_F(MemberKnowledgeTest, WhoLetAnotherLeadSaysSoUntilTheNextRound) {
  const auto yielded = [this](bool asked, bool assigned) {
    incarnation_ = 0;  // it is the one that leads, too, as for a launcher
    begin(1);
    welcome();
    run_round(1);
    member_->on_link_closed(now_, 0);
    if (asked)
      (void)member_->answer(now_, Hello{kControlVersion, "job", false, 0, Purpose::kMember, 0});
    if (assigned) {
      welcome();
      member_->on_message(now_, 0, Stop{1, 0, "again"});
      member_->on_gone(now_, 1);
      run_round(2);
      member_->on_link_closed(now_, 0);
    }
    member_->on_dial_failed(now_, 0, DialFailure::kRefused, "refused");
    const auto lead = output<BecomeLeader>();
    EXPECT_TRUE(lead);
    return lead && lead->seed.yielded;
  };
  EXPECT_FALSE(yielded(false, false));
  EXPECT_TRUE(yielded(true, false));
  EXPECT_FALSE(yielded(true, true));
}

TEST_F(MemberKnowledgeTest, WhoMayLeadByANewListCallsTheRoll) {
  begin(std::nullopt);
  run_many(3);
  watch(seconds(4));
  EXPECT_FALSE(output<NodeDial>()) << "it is not its part";
  ASSERT_TRUE(member_->set_candidates(now_, {"worker-0", "worker-1"}, 1));
  watch(seconds(2));
  EXPECT_TRUE(output<NodeDial>());
}

// A leader that is silent for a lease is waited for; whoever leads then could not tell any more
// that node 2 ended meanwhile.
TEST_F(MemberKnowledgeTest, WhoEndsWhileTheLeaderIsSilentIsFoundOut) {
  for (const DialResult result :
       {DialResult::kRefused, DialResult::kConnected, DialResult::kNoAnswer}) {
    begin(1);
    run_many(3);
    // Silence, the loss of the leader, and a tenth of a lease more.
    watch(seconds(4));
    std::vector<NodeDial> asked;
    (void)output<NodeDial>();
    for (const MemberOutput& output : outputs_) {
      if (const auto* dial = std::get_if<NodeDial>(&output)) asked.push_back(*dial);
    }
    ASSERT_GE(asked.size(), 2U) << "again and again";
    EXPECT_EQ(asked[0].host, "10.0.0.1");
    EXPECT_EQ(asked[1].host, "10.0.0.3");
    EXPECT_EQ(asked[1].port, 29400);
    outputs_.clear();
    member_->on_dialed(now_, asked[1].dial, result);
    const bool ended = result == DialResult::kRefused;
    EXPECT_EQ(output<member_output::Log>().has_value(), ended);
    if (ended) {
      EXPECT_EQ(output<member_output::Log>()->reason,
                "worker-2 ended: nothing listens where its agent did");
    }
    watch(seconds(4));
    member_->on_dialed(now_ + seconds(2), asked[0].dial, DialResult::kRefused);  // too late
    member_->on_dial_failed(now_ + seconds(2), 0, DialFailure::kNoAnswer, "?");
    const auto lead = output<BecomeLeader>();
    ASSERT_TRUE(lead);
    EXPECT_EQ(lead->seed.evidence_until, std::nullopt);
    ASSERT_EQ(lead->seed.ended.size(), ended ? 1U : 0U);
    if (ended) {
      EXPECT_EQ(lead->seed.ended[0].node_ranks, std::vector<int>{2});
    }
    outputs_.clear();
  }
}

TEST_F(MemberKnowledgeTest, ARollIsCalledFromTheStartAfterEachLoss) {
  const auto dialled = [this] {
    std::vector<NodeDial> dials;
    (void)output<NodeDial>();
    for (const MemberOutput& output : outputs_) {
      if (const auto* dial = std::get_if<NodeDial>(&output)) dials.push_back(*dial);
    }
    outputs_.clear();
    return dials;
  };
  begin(1);
  run_many(600);
  watch(seconds(4));
  const auto first = dialled();
  ASSERT_EQ(first.size(), RollCall::kAtOnce);
  member_->on_dial_failed(now_, 0, DialFailure::kNoAnswer, "?");
  watch(seconds(1));
  welcome();
  ASSERT_TRUE(member_->has_leader());
  for (const NodeDial& dial : first) member_->on_dialed(now_, dial.dial, DialResult::kConnected);
  beat(seconds(1));
  member_->on_link_closed(now_, 0, "closed");
  EXPECT_TRUE(dialled().empty()) << "one that ended has a successor in a moment";
}

}  // namespace
}  // namespace muster::rendezvous
