#include "rendezvous/agreement/membership.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{100s};

Joiner joiner(int index, std::optional<int> seat = std::nullopt) {
  Joiner node;
  node.identity = {"worker-" + std::to_string(index), index, static_cast<uint64_t>(index) + 1};
  if (seat) node.seat = NodeIdentity{"worker-" + std::to_string(*seat), *seat, 0};
  node.joined_at = kStart;
  return node;
}

JobOptions sizes(int min, int max) {
  JobOptions options;
  options.min_nodes = min;
  options.max_nodes = max;
  return options;
}

std::vector<std::string> names(const RoundDecision& decision, const std::vector<Joiner>& joiners) {
  std::vector<std::string> result;
  for (const auto& member : decision.members)
    result.push_back(joiners[member.joiner].identity.name);
  return result;
}

using Names = std::vector<std::string>;

TEST(DecideRound, ClosesAtOnceWithMaxNodesInOrderOfIdentity) {
  const std::vector<Joiner> joiners = {joiner(10), joiner(2), joiner(1)};
  const auto decision = decide_round(kStart, joiners, {}, sizes(1, 3));
  EXPECT_EQ(names(decision, joiners), (Names{"worker-1", "worker-2", "worker-10"}));
}

TEST(DecideRound, TwoOfOneNameHaveTheSameRanksInWhateverOrderTheyAreListed) {
  Joiner one = joiner(0);
  one.identity = {"worker", std::nullopt, 7};
  Joiner other = one;
  other.identity.incarnation = 3;
  for (const bool seated : {false, true}) {
    if (seated) one.seat = other.seat = NodeIdentity{"worker", std::nullopt, 0};
    for (const auto& joiners : {std::vector{one, other}, std::vector{other, one}}) {
      const auto decision = decide_round(kStart, joiners, {}, sizes(2, 2));
      ASSERT_EQ(decision.members.size(), 2U);
      EXPECT_EQ(joiners[decision.members[0].joiner].identity.incarnation, 3U) << seated;
    }
  }
}

TEST(DecideRound, LastCallRunsFromTheLastArrival) {
  std::vector<Joiner> joiners = {joiner(0), joiner(1)};
  joiners[1].joined_at = kStart + 5s;
  const auto waiting = decide_round(kStart + 6s, joiners, {}, sizes(2, 4));
  EXPECT_TRUE(waiting.members.empty());
  EXPECT_TRUE(waiting.last_call);
  EXPECT_EQ(waiting.wake_at, kStart + 35s);
  EXPECT_EQ(waiting.reason, "2 of 2..4 nodes, last call for 29 s more");
  EXPECT_EQ(decide_round(kStart + 35s, joiners, {}, sizes(2, 4)).members.size(), 2u);
}

TEST(DecideRound, SizesThatTheJobDoesNotTakeAreToldWithThoseThatItDoes) {
  const std::vector<Joiner> three = {joiner(0), joiner(1), joiner(2)};
  JobOptions options = sizes(2, 4);
  options.allowed_nodes = {4};
  EXPECT_EQ(decide_round(kStart, three, {}, options).reason, "3 nodes, and the job takes 4 nodes");
  options = sizes(3, 6);
  options.nodes_step = 3;
  EXPECT_EQ(decide_round(kStart, {three.data(), 2}, {}, options).reason,
            "2 nodes, and the job takes 3 or 6 nodes");
  options.rule.first = FirstNode::kApart;
  options.min_nodes = 4;
  options.max_nodes = 7;
  EXPECT_EQ(decide_round(kStart, three, {}, options).reason,
            "3 nodes, and the job takes 3 or 6 nodes");
  std::vector<Joiner> launched = three;
  launched[0].node_rank = 0;
  EXPECT_EQ(decide_round(kStart, launched, {}, options).reason,
            "2 nodes, and the job takes 3 or 6 nodes");
}

TEST(DecideRound, TheLaunchersNodeIsInEveryRoundAndFirst) {
  JobOptions options = sizes(2, 3);
  options.rule.first = FirstNode::kApart;
  std::vector<Joiner> joiners = {joiner(0, 0), joiner(1, 1), joiner(2, 2), joiner(9)};
  RoundHistory history;
  history.had_round = true;
  history.last_nodes = 3;
  const auto missing = decide_round(kStart, joiners, history, options);
  EXPECT_TRUE(missing.members.empty());
  EXPECT_EQ(missing.reason, "4 of 2..3 nodes with the launcher's, the launcher is missing");
  joiners[3].node_rank = 0;
  joiners[3].local_world_size = 0;
  const auto decision = decide_round(kStart, joiners, history, options);
  EXPECT_EQ(names(decision, joiners), (Names{"worker-9", "worker-0", "worker-1"}));
  EXPECT_EQ(decision.world_size, 2);
  EXPECT_EQ(decision.members[1].rank_offset, 0);
}

TEST(DecideRound, AnElasticRoundIsItsLauncherAloneOnceEnoughAreThere) {
  JobOptions options = sizes(2, 3);
  options.rule.takes_part = TakesPart::kLeadersNode;
  options.last_call = 0s;
  std::vector<Joiner> joiners = {joiner(0), joiner(1), joiner(2), joiner(3)};
  EXPECT_EQ(decide_round(kStart, joiners, {}, options).reason,
            "4 of 2..3 nodes, the launcher is missing");
  joiners[2].node_rank = 0;
  const auto decision = decide_round(kStart, joiners, {}, options);
  EXPECT_EQ(names(decision, joiners), Names{"worker-2"});
  EXPECT_EQ(decision.reason, "3 of 2..3 nodes, 1 spare");
  joiners = {joiners[2]};
  EXPECT_EQ(decide_round(kStart, joiners, {}, options).reason, "1 of 2..3 nodes");
}

TEST(DecideRound, TooFewIsNotYet) {
  const std::vector<Joiner> joiners = {joiner(0)};
  const auto decision = decide_round(kStart + 1h, joiners, {}, sizes(2, 4));
  EXPECT_TRUE(decision.members.empty());
  EXPECT_EQ(decision.reason, "1 of 2..4 nodes");
}

TEST(DecideRound, MoreThanMaxAreSpares) {
  const std::vector<Joiner> joiners = {joiner(0), joiner(1), joiner(2)};
  const auto decision = decide_round(kStart, joiners, {}, sizes(2, 2));
  EXPECT_EQ(names(decision, joiners), (Names{"worker-0", "worker-1"}));
  EXPECT_EQ(decision.reason, "2 of 2 nodes, 1 spare");
}

TEST(DecideRound, StepAndListBoundTheSize) {
  JobOptions options = sizes(2, 8);
  options.allowed_nodes = {2, 4, 8};
  std::vector<Joiner> joiners;
  for (int i = 0; i < 7; ++i) joiners.push_back(joiner(i));
  EXPECT_EQ(decide_round(kStart + 1h, joiners, {}, options).members.size(), 4u);
  options.allowed_nodes.clear();
  options.nodes_step = 3;
  EXPECT_EQ(decide_round(kStart + 1h, joiners, {}, options).members.size(), 5u);
}

TEST(DecideRound, ReplacementInheritsTheRankOfTheLost) {
  RoundHistory history;
  history.had_round = true;
  history.last_nodes = 3;
  history.empty_seats = {{"worker-1", 1, 7}};
  const std::vector<Joiner> joiners = {joiner(0, 0), joiner(2, 2), joiner(9)};
  const auto decision = decide_round(kStart, joiners, history, sizes(3, 3));
  EXPECT_EQ(names(decision, joiners), (Names{"worker-0", "worker-9", "worker-2"}));
  EXPECT_EQ(decision.members[1].seat.name, "worker-1");
}

TEST(DecideRound, LostNodeIsAwaitedThenDoneWithout) {
  RoundHistory history;
  history.had_round = true;
  history.last_nodes = 3;
  history.replace_until = kStart + 30s;
  const std::vector<Joiner> joiners = {joiner(0, 0), joiner(2, 2)};
  EXPECT_TRUE(decide_round(kStart, joiners, history, sizes(2, 3)).members.empty());
  EXPECT_EQ(decide_round(kStart + 30s, joiners, history, sizes(2, 3)).members.size(), 2u);
}

TEST(DecideRound, SameMembersAsBeforeNeedNoWaiting) {
  RoundHistory history;
  history.had_round = true;
  history.last_nodes = 2;
  history.replace_until = kStart + 30s;
  const std::vector<Joiner> joiners = {joiner(2, 2), joiner(0, 0)};
  EXPECT_EQ(decide_round(kStart, joiners, history, sizes(2, 3)).members.size(), 2u);
}

TEST(DecideRound, NodeRankIsHonoured) {
  std::vector<Joiner> joiners = {joiner(0), joiner(1), joiner(2)};
  joiners[2].node_rank = 0;
  const auto decision = decide_round(kStart, joiners, {}, sizes(3, 3));
  EXPECT_EQ(names(decision, joiners), (Names{"worker-2", "worker-0", "worker-1"}));
}

TEST(DecideRound, OffsetsAreRunningSumsPerRole) {
  std::vector<Joiner> joiners = {joiner(0), joiner(1), joiner(2)};
  joiners[0].local_world_size = 2;
  joiners[1].local_world_size = 3;
  joiners[1].role = "reader";
  const auto decision = decide_round(kStart, joiners, {}, sizes(3, 3));
  EXPECT_EQ(decision.world_size, 6);
  EXPECT_EQ(decision.members[2].rank_offset, 5);
  EXPECT_EQ(decision.members[2].role_rank_offset, 2);
  EXPECT_EQ(decision.members[2].role_world_size, 3);
  EXPECT_EQ(decision.members[1].role_world_size, 3);
}

TEST(DecideRound, KnownNodesMustBeComplete) {
  JobOptions options = sizes(2, 2);
  options.known_nodes = true;
  std::vector<Joiner> joiners = {joiner(0), joiner(1), joiner(2)};
  joiners[0].node_rank = 1;
  EXPECT_TRUE(decide_round(kStart, joiners, {}, options).members.empty());
  joiners[2].node_rank = 0;
  const auto decision = decide_round(kStart, joiners, {}, options);
  EXPECT_EQ(names(decision, joiners), (Names{"worker-2", "worker-0"}));
}

TEST(DecideRound, AKnownNodeTwiceIsNamed) {
  JobOptions options = sizes(2, 2);
  options.known_nodes = true;
  std::vector<Joiner> joiners = {joiner(0)};
  joiners[0].node_rank = 1;
  EXPECT_EQ(decide_round(kStart, joiners, {}, options).reason, "1 of 2 nodes");
  joiners.push_back(joiner(1));
  joiners[1].node_rank = 1;
  EXPECT_EQ(decide_round(kStart, joiners, {}, options).reason,
            "2 of 2 nodes, none has --node-rank 0, but worker-0 and worker-1 have --node-rank 1");
}

TEST(NodeIdentity, NaturalOrder) {
  EXPECT_LT(compare_natural("node2", "node10"), 0);
  EXPECT_LT(compare_natural("a", "b"), 0);
  EXPECT_EQ(compare_natural("a1b2", "a1b2"), 0);
  EXPECT_NE(compare_natural("a01", "a1"), 0);
  EXPECT_GT(compare_natural("a1x", "a1"), 0);
}

TEST(NodeIdentity, KnownIndexesComeFirst) {
  EXPECT_TRUE(seat_less({"z", 1, 0}, {"a", std::nullopt, 0}));
  EXPECT_TRUE(same_place({"a", 1, 0}, {"b", 1, 9}));
  EXPECT_FALSE(same_place({"a", 1, 0}, {"a", 2, 0}));
}

TEST(JobOptions, RdzvConfKeys) {
  JobOptions options;
  ASSERT_TRUE(apply_rdzv_conf(options, {{"join_timeout", "60"}, {"keep_alive_interval", "2"}}));
  EXPECT_EQ(options.join_timeout, 60s);
  EXPECT_EQ(options.lease, 6s);
  EXPECT_FALSE(apply_rdzv_conf(options, {{"last_call_timeout", "0"}}));
  EXPECT_TRUE(apply_rdzv_conf(options, {{"use_libuv", "x"}}));
}

TEST(JobOptions, FenceAndAckWindowFitIntoALease) {
  for (const Duration lease : {Duration(2s), Duration(30s), Duration(10min)}) {
    const LeaseTimes times = lease_times(lease);
    EXPECT_LT(times.fence + times.suspect, times.lease);
    EXPECT_LT(times.heartbeat, times.suspect);
  }
}

TEST(JobOptions, Check) {
  EXPECT_TRUE(check(sizes(1, 4)));
  EXPECT_FALSE(check(sizes(5, 4)));
  JobOptions options = sizes(1, 4);
  options.lease = 1s;
  EXPECT_FALSE(check(options));
}

}  // namespace
}  // namespace muster::rendezvous
