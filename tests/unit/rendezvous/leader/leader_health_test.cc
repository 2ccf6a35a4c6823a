// Nodes that failed a health check: they stay out of rounds for a time, and others take their
// places.
#include "elastic/round_policy.h"
#include "rendezvous/leader/leader.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

class HealthTest : public testing::LeaderFixture {
 protected:
  HealthTest() {
    options_.min_nodes = 2;
    options_.health_checks = HealthChecks::kLocal;
    options_.health_cooldown = 20s;
  }
  static Failed unfit(uint64_t round, int node_rank) {
    Failure found;
    found.rank = -1;
    found.reason = "memlock: 64 KiB may be locked";
    found.unfit_node = node_rank;
    return {round, {found}};
  }
  /// Node 1 says of itself that it is not fit for that round, and all have stopped.
  void find_unfit(uint64_t round) {
    say(1, unfit(round, 1));
    for (const int node : {0, 1}) say(node, Stopped{round});
  }
  [[nodiscard]] bool has_said(const std::string& event, const std::string& words) const {
    return std::ranges::any_of(outputs_, [&](const LeaderOutput& output) {
      const auto* line = std::get_if<leader_output::Log>(&output);
      return line != nullptr && line->event == event &&
             line->reason.find(words) != std::string::npos;
    });
  }
};

TEST_F(HealthTest, TheLeaderSaysWhichChecksComeFirst) {
  options_.health_checks = HealthChecks::kPairs;
  lead();
  join(0);
  join(1);
  EXPECT_EQ(sent<Assign>(1)->checks, HealthChecks::kPairs);
}

TEST_F(HealthTest, AnUnfitNodeStaysOutForItsTimeAndComesBack) {
  lead();
  join(0);
  join(1);
  say(0, Started{1});
  find_unfit(1);
  EXPECT_EQ(leader_->state(), LeaderState::kGathering);
  EXPECT_TRUE(has_said("node.unfit", "is not fit: memlock: 64 KiB may be locked; out for 20 s"));
  EXPECT_NE(sent<Waiting>(0)->reason.find("is not fit, and out for"), std::string::npos);
  EXPECT_NE(leader_->status_json(now_).find("\"state\":\"unfit\""), std::string::npos);
  pass(19s, {0, 1});
  EXPECT_EQ(leader_->round(), 1U);
  pass(2s, {0, 1});
  EXPECT_EQ(leader_->round(), 2U);
  EXPECT_EQ(policy_.state.restarts_charged, 0);
}

TEST_F(HealthTest, EachTimeInARowItStaysOutForTwiceAsLong) {
  lead();
  join(0);
  join(1);
  find_unfit(1);
  pass(21s, {0, 1});
  ASSERT_EQ(leader_->round(), 2U);
  find_unfit(2);
  pass(39s, {0, 1});
  EXPECT_EQ(leader_->round(), 2U);
  pass(2s, {0, 1});
  ASSERT_EQ(leader_->round(), 3U);
  for (const int node : {0, 1}) say(node, Started{3});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  say(0, failure(3));
  say(0, Stopped{3});
  say(1, Stopped{3});
  ASSERT_EQ(leader_->round(), 4U);
  find_unfit(4);
  pass(21s, {0, 1});
  EXPECT_EQ(leader_->round(), 5U) << "it was fit in between";
}

TEST_F(HealthTest, ASpareTakesThePlaceAtOnce) {
  options_.spares = 1;
  lead();
  for (const int node : {0, 1, 2}) join(node);
  ASSERT_EQ(leader_->round(), 1U);
  find_unfit(1);
  EXPECT_EQ(leader_->round(), 2U);
  EXPECT_EQ(sent<Assign>(2)->round, 2U);
  EXPECT_EQ(sent<Assign>(2)->node_rank, 1);
  EXPECT_EQ(sent<Assign>(1)->round, 1U);
  EXPECT_TRUE(sent<Waiting>(1)->spare) << "it must know of the round, for it may lead next";
  EXPECT_EQ(sent<Waiting>(1)->last.round, 2U);
}

TEST_F(HealthTest, WhatFailsBesideAnUnfitNodeIsItsFault) {
  lead();
  join(0);
  join(1);
  say(0, failure(1));
  find_unfit(1);
  EXPECT_EQ(policy_.state.restarts_charged, 0);
  EXPECT_TRUE(has_said("round.verdict", "is not fit: memlock"));
}

TEST_F(HealthTest, TheFirstNodeNamesOthers) {
  lead();
  join(0);
  join(1);
  say(0, unfit(1, 1));
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
  EXPECT_TRUE(has_said("node.unfit", "worker-1"));
}

TEST_F(HealthTest, WhatIsToldAgainCountsOnce) {
  lead();
  join(0);
  join(1);
  say(1, unfit(1, 1));
  say(1, unfit(1, 1));
  for (const int node : {0, 1}) say(node, Stopped{1});
  pass(21s, {0, 1});
  EXPECT_EQ(leader_->round(), 2U);
}

TEST_F(HealthTest, ALinkThatBreaksForgivesNothing) {
  options_.min_nodes = 1;
  options_.spares = 1;
  lead();
  for (const int node : {0, 1, 2}) join(node);
  find_unfit(1);
  ASSERT_EQ(leader_->round(), 2U);
  for (const int node : {0, 2}) say(node, Started{2});
  leader_->on_link_closed(now_, link_of(1));
  pass(1s, {0, 2});
  join(1);
  say(0, failure(2));
  for (const int node : {0, 2}) say(node, Stopped{2});
  ASSERT_EQ(leader_->round(), 3U);
  EXPECT_EQ(sent<Assign>(1)->round, 1U) << "its time is not over";
}

TEST_F(HealthTest, ANodeThatIsNotThereIsNothing) {
  lead();
  join(0);
  join(1);
  say(0, unfit(1, 7));
  EXPECT_EQ(leader_->state(), LeaderState::kAssigned);
}

TEST_F(HealthTest, NoRoundThatRunsIsStoppedForItsReturn) {
  options_.min_nodes = 1;
  lead();
  join(0);
  join(1);
  options_.health_cooldown = 60s;
  policy_.grow_at = now_;
  find_unfit(1);
  pass(25s, {0, 1});
  ASSERT_EQ(leader_->round(), 2U);
  say(0, Started{2});
  ASSERT_EQ(leader_->state(), LeaderState::kRunning);
  pass(60s, {0, 1});
  EXPECT_EQ(leader_->round(), 2U);
  say(0, failure(2));
  say(0, Stopped{2});
  EXPECT_EQ(leader_->round(), 3U);
  EXPECT_EQ(sent<Assign>(1)->round, 3U) << "but the next one may have it";
}

TEST_F(HealthTest, AJobThatWaitsInVainSaysForWhom) {
  options_.join_timeout = 10s;
  lead();
  join(0);
  join(1);
  find_unfit(1);
  pass(11s, {0, 1});
  ASSERT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_NE(sent<Finish>(0)->reason.find("is not fit, and out for"), std::string::npos);
}

}  // namespace
}  // namespace muster::rendezvous
