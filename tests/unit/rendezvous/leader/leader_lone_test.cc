// Workers that start again alone: the leader says whether the job's budget allows it.
#include "elastic/round_policy.h"
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

LoneFailure failed(int rank, uint64_t sequence, uint64_t round = 1) {
  return {round, sequence, rank, "exit code 3"};
}

class LoneFailureTest : public testing::LeaderFixture {
 protected:
  /// The last answer to that node.
  [[nodiscard]] bool may(int node) {
    const auto answer = sent<MayRestart>(node);
    EXPECT_TRUE(answer);
    return answer && answer->restart;
  }
};

TEST_F(LoneFailureTest, AllNodesAndAllWorkersTogetherHaveOneBudget) {
  policy_.max_restarts = 2;
  policy_.delay = 1500ms;
  run_two();
  say(0, failed(0, 1));
  ASSERT_TRUE(may(0));
  EXPECT_EQ(sent<MayRestart>(0)->delay_ms, 1500);
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  say(1, failed(1, 1));
  EXPECT_TRUE(may(1));
  say(0, failed(0, 2));
  EXPECT_FALSE(may(0));
  EXPECT_EQ(leader_->state(), LeaderState::kRunning) << "its failure is told as any other";
  say(0, failure(1));
  for (const int node : {0, 1}) say(node, Stopped{1});
  EXPECT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_FALSE(sent<Finish>(1)->success);
}

TEST_F(LoneFailureTest, ARestartOfAllLeavesNoneForOneWorker) {
  fail_two();
  ASSERT_EQ(leader_->round(), 2U);
  for (const int node : {0, 1}) say(node, Started{2});
  say(1, failed(1, 1, 2));
  EXPECT_FALSE(may(1));
}

TEST_F(LoneFailureTest, WhoAsksAgainHasTheSameAnswerAndNothingIsCharged) {
  run_two();
  say(1, failed(1, 1));
  leader_->on_link_closed(now_, link_of(1));
  Join again = join_of(1);
  again.last_round = report_of(1, 1);
  again.last_round->workers = true;
  join(1, again);
  outputs_.clear();
  say(1, failed(1, 1));
  EXPECT_TRUE(may(1));
  EXPECT_EQ(policy_.state.restarts_charged, 1);
}

TEST_F(LoneFailureTest, WhoMayLeadNextKnowsTheBudgetWhateverBecomesOfTheOthers) {
  lead();
  Join other = join_of(1);
  other.candidate = 1;
  join(0);
  join(1, other);
  for (const int node : {0, 1}) say(node, Started{1});
  say(0, failed(0, 1));
  ASSERT_TRUE(sent<MayRestart>(1));
  EXPECT_EQ(sent<MayRestart>(1)->budget.restarts_charged, 1);
  EXPECT_EQ(sent<MayRestart>(1)->rank, 0);
}

TEST_F(LoneFailureTest, WhoMayLeadNextAndHadNoLinkIsToldWhenItIsBack) {
  lead();
  Join other = join_of(1);
  other.candidate = 1;
  join(0);
  join(1, other);
  for (const int node : {0, 1}) say(node, Started{1});
  leader_->on_link_closed(now_, link_of(1));
  say(0, failed(0, 1));
  outputs_.clear();
  other.last_round = report_of(1, 1);
  join(1, other);
  ASSERT_TRUE(sent<MayRestart>(1));
  EXPECT_EQ(sent<MayRestart>(1)->budget.restarts_charged, 1);
  EXPECT_EQ(sent<MayRestart>(1)->sequence, 0U) << "it answers no question";
  leader_->on_link_closed(now_, link_of(1));
  outputs_.clear();
  other.budget.restarts_charged = 1;
  join(1, other);
  EXPECT_FALSE(sent<MayRestart>(1)) << "it knows";
}

TEST_F(LoneFailureTest, WhereAServiceElectsAnyNodeMayLeadNext) {
  LeaderSeed seed = seed_of(16, 0);
  seed.elected_safe_at = now_;
  lead(seed);
  for (const int node : {0, 1}) join(node);
  for (const int node : {0, 1}) say(node, Started{1});
  say(0, failed(0, 1));
  ASSERT_TRUE(sent<MayRestart>(1));
  EXPECT_EQ(sent<MayRestart>(1)->budget.restarts_charged, 1);
}

TEST_F(LoneFailureTest, TheNextLeaderGoesOnWithTheBudgetOfWhoAsked) {
  elastic::RoundPolicyOptions limits;
  limits.restarts.max_restarts = 1;
  elastic::RoundPolicy rules(limits, 1);
  LeaderSeed seed = seed_of(17, 0);
  seed.last_round = report_of(0, 1);
  leader_ = std::make_unique<Leader>(now_, options_, rules, seed);
  began_ = now_;
  for (const int node : {0, 1}) {
    Join join = join_of(node);
    join.last_round = report_of(node, 1);
    if (node == 1) join.budget.restarts_used = join.budget.restarts_charged = 1;
    this->join(node, join);
  }
  pass(options_.lease + 6s, {0, 1});
  ASSERT_EQ(leader_->state(), LeaderState::kAssigned);
  for (const int node : {0, 1}) say(node, Started{leader_->round()});
  say(0, failed(0, 1, leader_->round()));
  EXPECT_FALSE(may(0));
  EXPECT_EQ(sent<MayRestart>(0)->reason, "the only restart is used");
}

TEST_F(LoneFailureTest, AfterTheJobsSuccessOrBeforeALeaveNothingIsCharged) {
  run_two();
  say(1, Leaving{"SIGTERM", 20000});
  say(1, failed(1, 1));
  EXPECT_FALSE(may(1));
  say(0, Decided{1, {false, "the chief (rank 0) succeeded"}});
  say(0, failed(0, 1));
  EXPECT_FALSE(may(0));
  EXPECT_EQ(policy_.state.restarts_charged, 0);
}

TEST_F(LoneFailureTest, OfARoundThatEndsOrEndedNothingIsSaid) {
  run_two();
  say(1, failed(1, 1, 7));
  say(0, failure(1));
  ASSERT_EQ(leader_->state(), LeaderState::kStopping);
  say(1, failed(1, 1));
  EXPECT_FALSE(sent<MayRestart>(1));
  EXPECT_EQ(policy_.state.restarts_charged, 0);
}

}  // namespace
}  // namespace muster::rendezvous
