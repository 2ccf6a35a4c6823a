// A leader asks the others who may lead before it forms a first round without them.
#include <gtest/gtest.h>

#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

class LeaderAskTest : public testing::LeaderFixture {
 protected:
  // Node 0 of three who may lead, with node 3 that may not: enough for the least.
  void lead_two_of_five() {
    options_.min_nodes = 2;
    options_.max_nodes = 5;
    LeaderSeed seed = seed_of(16, 0);
    seed.candidates = 3;
    lead(std::move(seed));
    Join own = join_of(0);
    own.candidate = 0;
    join(0, own);
    join(3);
  }
  void lead_two_of_three() {
    lead(seed_of(16, 0));
    Join own = join_of(0);
    own.candidate = 0;
    join(0, own);
    join(3);
  }
  bool asks() { return output<leader_output::AskCandidates>().has_value(); }
};

TEST_F(LeaderAskTest, AsksThoseWhoAreNotHereWhenItCouldBegin) {
  answers_.reset();
  lead_two_of_five();
  pass(seconds(4), {0, 3});
  EXPECT_FALSE(asks());  // others may come as yet
  pass(seconds(5), {0, 3});
  ASSERT_TRUE(asks());
  EXPECT_EQ(output<leader_output::AskCandidates>()->here, std::vector<int>{0});
  EXPECT_FALSE(sent<Assign>(0));
  answer({});
  turn();
  EXPECT_TRUE(sent<Assign>(0));
}

TEST_F(LeaderAskTest, ForGivesTheRoundToWhoLeadsElsewhere) {
  answers_ = CandidateAnswers{.silent = false, .elsewhere = true};
  lead_two_of_five();
  pass(seconds(9), {0, 3});
  EXPECT_TRUE(output<leader_output::StepDown>());
  EXPECT_TRUE(sent<Handover>(3));
  EXPECT_FALSE(sent<Assign>(0));
}

// Two of five may be enough elsewhere.
TEST_F(LeaderAskTest, NeedsFourOfFiveWhereOneIsSilent) {
  answers_ = CandidateAnswers{.silent = true, .elsewhere = false};
  lead_two_of_five();
  pass(seconds(9), {0, 3});
  EXPECT_FALSE(sent<Assign>(0));
  EXPECT_FALSE(output<leader_output::StepDown>());
  Join second = join_of(1);
  second.candidate = 1;
  join(1, second);
  pass(seconds(3), {0, 1, 3});
  EXPECT_FALSE(sent<Assign>(0));
  join(4);
  pass(seconds(6), {0, 1, 3, 4});
  EXPECT_TRUE(sent<Assign>(0));
}

// It was asked just before, and again where that is long ago.
TEST_F(LeaderAskTest, WhoWasSilentFromTheStartIsAskedAgainWhenNodesComeLate) {
  for (const Duration late : {seconds(1), seconds(5)}) {
    outputs_.clear();
    options_.max_nodes = 2;
    LeaderSeed seed = seed_of(16, 0);
    seed.candidates = 2;
    seed.uncertain = true;
    lead(std::move(seed));
    Join own = join_of(0);
    own.candidate = 0;
    join(0, own);
    pass(late, {0});
    join(3);
    EXPECT_EQ(asks(), late > seconds(4));
    EXPECT_TRUE(sent<Assign>(0));
  }
}

// Those who are missing may be with a leader that began when this one was cut off.
TEST_F(LeaderAskTest, LooksForOthersOnceALeaseWhileNodesAreMissing) {
  for (const CandidateAnswers& answers : {CandidateAnswers{}, CandidateAnswers{.silent = true},
                                          CandidateAnswers{.elsewhere = true}}) {
    options_.min_nodes = 3;
    options_.max_nodes = 3;
    answers_ = answers;
    lead_two_of_three();
    outputs_.clear();
    pass(options_.lease - seconds(1), {0, 3});
    EXPECT_FALSE(asks());
    pass(seconds(2), {0, 3});
    EXPECT_TRUE(asks());
    EXPECT_EQ(output<leader_output::StepDown>().has_value(), answers.elsewhere);
    outputs_.clear();
    pass(options_.lease - seconds(3), {0, 3});
    EXPECT_FALSE(asks());
    if (answers.elsewhere) continue;
    // That one gave no sign then is no reason to wait for more nodes.
    answers_ = CandidateAnswers{};
    join(4);
    EXPECT_TRUE(sent<Assign>(4));
  }
}

TEST_F(LeaderAskTest, AsksNobodyWhenAllAreHere) {
  lead_two_of_five();
  for (const int other : {1, 2}) {
    Join join = join_of(other);
    join.candidate = other;
    this->join(other, join);
  }
  pass(seconds(9), {0, 1, 2, 3});
  EXPECT_TRUE(sent<Assign>(0));
  EXPECT_FALSE(asks());
}

// A spare may have begun alone by a list that nobody else has.
TEST_F(LeaderAskTest, AllAreHereOnceTheSparesAre) {
  for (const int spares : {0, 1}) {
    answers_.reset();
    outputs_.clear();
    options_.min_nodes = 1;
    options_.max_nodes = 2;
    options_.spares = spares;
    lead(seed_of(16, 0));
    Join own = join_of(0);
    own.candidate = 0;
    join(0, own);
    join(1);
    pass(seconds(9), {0, 1});
    ASSERT_TRUE(asks());
    EXPECT_EQ(output<leader_output::AskCandidates>()->all_here, spares == 0);
  }
}

TEST_F(LeaderAskTest, AsksAgainWhenNoAnswerCame) {
  answers_.reset();
  lead_two_of_five();
  pass(seconds(9), {0, 3});
  ASSERT_TRUE(asks());
  outputs_.clear();
  answers_ = CandidateAnswers{};
  pass(options_.lease, {0, 3});
  EXPECT_TRUE(asks());
  EXPECT_TRUE(sent<Assign>(0));
}

// All of the last round have left: they keep nobody else from going on, as before a first round.
TEST_F(LeaderAskTest, ARoundOfWhomNobodyIsLeftIsNoQuorum) {
  options_.max_nodes = 3;
  for (const bool silent : {false, true}) {
    answers_ = CandidateAnswers{.silent = silent, .elsewhere = false};
    outputs_.clear();
    LeaderSeed seed = seed_of(16, 0);
    seed.candidates = 2;
    seed.last_round = report_of(-1, 4);
    seed.last_round->node_count = 1;
    seed.ended = {{4, 16, {0}}};
    lead(std::move(seed));
    Join own = join_of(0);
    own.candidate = 0;
    own.last_round = report_of(-1, 4);
    own.last_round->node_count = 1;
    join(0, own);
    pass(seconds(9), {0});
    EXPECT_TRUE(asks());
    EXPECT_EQ(sent<Assign>(0).has_value(), !silent);
  }
}

// Answers are for a round at once: who came later is asked again.
TEST_F(LeaderAskTest, AnswersGetOld) {
  answers_.reset();
  lead_two_of_five();
  pass(seconds(9), {0, 3});
  ASSERT_TRUE(asks());
  leader_->on_link_closed(now_, link_of(3));
  answer({});
  turn();
  outputs_.clear();
  pass(seconds(5), {0});
  join(3);
  pass(seconds(6), {0, 3});
  EXPECT_TRUE(asks());
  EXPECT_FALSE(sent<Assign>(0));
}

// Where more nodes were started than was said, both halves of a split job may have enough of them,
// but not most of those who may lead.
TEST_F(LeaderAskTest, AnotherLeaderMayExistNeedsMostOfThoseWhoMayLead) {
  options_.min_nodes = 2;
  options_.max_nodes = 3;
  struct Case {
    std::vector<int> here;  // candidates and others
    size_t candidates;
    bool enough;
  };
  for (const auto& [here, candidates, enough] : std::vector<Case>{{{1, 0}, 3, true},
                                                                  {{2, 3}, 3, false},
                                                                  {{2, 3, 4}, 3, false},
                                                                  {{1, 2}, 2, false},
                                                                  {{0, 2}, 2, true},
                                                                  {{0}, 2, false},
                                                                  {{2, 3}, 0, true}}) {
    outputs_.clear();
    LeaderSeed seed = seed_of(16, here.front());
    seed.uncertain = true;
    seed.candidates = candidates;
    lead(std::move(seed));
    for (const int node : here) {
      Join join = join_of(node);
      if (static_cast<size_t>(node) < candidates) join.candidate = node;
      this->join(node, join);
    }
    pass(seconds(9), here);
    EXPECT_EQ(sent<Assign>(here.front()).has_value() || leader_->state() == LeaderState::kLastCall,
              enough)
        << here.front() << " of " << candidates;
  }
}

// A leader whom everybody answered may have begun with the least, before the network was split.
TEST_F(LeaderAskTest, AnotherLeaderMayHaveBegunWithTheLeast) {
  options_.max_nodes = 3;
  struct Case {
    int min, spares;
    bool enough;
  };
  for (const auto& [min, spares, enough] :
       std::vector<Case>{{1, 0, false}, {2, 0, true}, {2, 1, false}}) {
    outputs_.clear();
    options_.min_nodes = min;
    options_.spares = spares;
    LeaderSeed seed = seed_of(16, 0);
    seed.uncertain = true;
    seed.candidates = 3;
    lead(std::move(seed));
    for (const int node : {0, 1}) {
      Join join = join_of(node);
      join.candidate = node;
      this->join(node, join);
    }
    pass(seconds(9), {0, 1});
    EXPECT_EQ(sent<Assign>(0).has_value() || leader_->state() == LeaderState::kLastCall, enough)
        << min << " " << spares;
  }
}

// Node 0, the lowest of the round, would be half of it; but node 1 never heard of that round, and
// is as much as node 0 where it is now.
TEST_F(LeaderAskTest, AFirstRoundThatNotAllHaveHeardOfKeepsNeedingItsNodes) {
  for (const bool all_started : {false, true}) {
    outputs_.clear();
    LeaderSeed seed = seed_of(16, 0);
    seed.uncertain = true;
    lead(std::move(seed));
    join(0);
    join(1);
    ASSERT_TRUE(sent<Assign>(1));
    say(0, Started{1});
    if (all_started) say(1, Started{1});
    pass(seconds(3), {0});
    outputs_.clear();
    say(0, Heartbeat{.sequence = 9, .round = 1});
    ASSERT_TRUE(sent<Ack>(0));
    EXPECT_EQ(sent<Ack>(0)->in_vain, !all_started);
  }
}

// The leader that it followed before may have begun with it, and is silent.
TEST_F(LeaderAskTest, WhoCameOverFromAnotherLeaderIsWaitedForALease) {
  LeaderSeed seed = seed_of(16, 0);
  seed.uncertain = true;
  lead(std::move(seed));
  join(0);
  Join other = join_of(1);
  other.former_leader_ms = 2000;
  join(1, other);
  pass(seconds(7), {0, 1});
  EXPECT_FALSE(sent<Assign>(0));
  pass(seconds(2), {0, 1});
  EXPECT_TRUE(sent<Assign>(0));
}

// Nor does the term that somebody has heard of elsewhere change whose round it was.
TEST_F(LeaderAskTest, SoIsWhoComesAfterAFirstRoundThatDidNotRun) {
  for (const uint64_t term : {0U, 100U}) {
    outputs_.clear();
    lead();
    join(0);
    join(1);
    ASSERT_TRUE(sent<Assign>(1));
    leader_->on_link_closed(now_, link_of(1));
    Join own = join_of(0);
    own.last_round = report_of(0, 1);
    own.last_round->confirmed = own.last_round->workers = false;
    own.last_round->term = 16;
    join(0, own);
    pass(seconds(20), {0});
    Join other = join_of(2);
    other.former_leader_ms = 2000;
    outputs_.clear();
    join(2, other, term);
    pass(seconds(7), {0, 2});
    EXPECT_FALSE(sent<Assign>(2)) << term;
    pass(seconds(2), {0, 2});
    EXPECT_TRUE(sent<Assign>(2)) << term;
  }
}

// All of the round that ran are gone: what comes after it is as a first round.
TEST_F(LeaderAskTest, SoDoesTheRoundAfterOneOfWhomNobodyIsLeft) {
  LeaderSeed seed = seed_of(16, 0);
  seed.uncertain = true;
  seed.last_round = report_of(-1, 4);
  seed.ended = {{4, 16, {0, 1}}};
  lead(std::move(seed));
  for (const int node : {0, 1}) {
    Join own = join_of(node);
    own.last_round = report_of(-1, 4);
    own.former_leader_ms = 9000;
    join(node, own);
  }
  EXPECT_FALSE(sent<Assign>(0));  // another may have begun with node 1 less than a lease ago
  pass(seconds(9), {0, 1});
  ASSERT_TRUE(sent<Assign>(1));
  say(0, Started{5});
  pass(seconds(3), {0});
  outputs_.clear();
  say(0, Heartbeat{.sequence = 9, .round = 5});
  ASSERT_TRUE(sent<Ack>(0));
  EXPECT_TRUE(sent<Ack>(0)->in_vain);
}

// It was asked before those came with whom the round could begin.
TEST_F(LeaderAskTest, TheAnswerToALookIsNoneForARound) {
  answers_.reset();
  options_.min_nodes = 2;
  options_.max_nodes = 5;
  options_.last_call = seconds(1);
  lead(seed_of(16, 0));
  Join own = join_of(0);
  own.candidate = 0;
  join(0, own);
  pass(options_.lease, {0});
  ASSERT_TRUE(asks());
  const uint64_t look = question_;
  join(3);
  pass(seconds(1), {0, 3});
  ASSERT_GT(question_, look);
  leader_->on_candidates(now_, {.question = look});
  turn();
  EXPECT_FALSE(sent<Assign>(0));
  answer({});
  turn();
  EXPECT_TRUE(sent<Assign>(0));
}

TEST_F(LeaderAskTest, LooksAgainWhereTheAnswerForARoundWasLost) {
  answers_.reset();
  options_.min_nodes = 2;
  options_.max_nodes = 5;
  options_.last_call = seconds(1);
  lead_two_of_three();
  pass(seconds(8), {0, 3});
  ASSERT_TRUE(asks());
  outputs_.clear();
  say(3, Goodbye{"x"});
  pass(3 * options_.lease, {0});
  EXPECT_TRUE(asks());
}

}  // namespace
}  // namespace muster::rendezvous
