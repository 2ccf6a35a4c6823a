#include "rendezvous/agreement/known_rounds.h"

#include <gtest/gtest.h>

namespace muster::rendezvous {
namespace {

// Of nodes 1, 2, 3, ... by rank.
RoundReport round_of(uint64_t round, const std::vector<uint64_t>& nodes) {
  RoundReport report;
  report.round = round;
  report.term = 16;
  report.node_count = static_cast<int>(nodes.size());
  for (const uint64_t node : nodes)
    report.roster.push_back({{"node-" + std::to_string(node), {}, node}, "10.0.0.1", 29400});
  return report;
}

std::vector<uint64_t> incarnations(const std::vector<RosterEntry>& nodes) {
  std::vector<uint64_t> found;
  for (const RosterEntry& node : nodes) found.push_back(node.identity.incarnation);
  return found;
}

TEST(KnownRoundsTest, WhoEndedIsLeftOut) {
  KnownRounds rounds;
  EXPECT_TRUE(rounds.left(1).empty());
  EXPECT_FALSE(rounds.note_end(2)) << "no round";
  rounds.begin(round_of(1, {1, 2, 3}));
  EXPECT_EQ(incarnations(rounds.left(1)), (std::vector<uint64_t>{2, 3}));
  ASSERT_TRUE(rounds.note_end(3));
  EXPECT_FALSE(rounds.note_end(3)) << "no news";
  EXPECT_FALSE(rounds.note_end(9)) << "has no seat";
  EXPECT_EQ(incarnations(rounds.left(1)), (std::vector<uint64_t>{2}));
  ASSERT_EQ(rounds.ended.size(), 1U);
  EXPECT_EQ(rounds.ended[0].node_ranks, std::vector<int>{2});
}

TEST(KnownRoundsTest, NodesOfTheRoundBeforeCountUntilTheNewestRuns) {
  KnownRounds rounds;
  rounds.begin(round_of(1, {1, 2, 3}));
  rounds.ran_everywhere({16, 1});
  rounds.begin(round_of(2, {1, 2}));
  EXPECT_EQ(incarnations(rounds.left(1)), (std::vector<uint64_t>{2, 3}));
  const auto who = rounds.note_end(2);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->name, "node-2");
  ASSERT_EQ(rounds.ended.size(), 2U) << "of both rounds";
  EXPECT_EQ(rounds.ended[0].node_ranks, std::vector<int>{1});
  EXPECT_EQ(rounds.ended[1].node_ranks, std::vector<int>{1});
  rounds.ran_everywhere({16, 2});
  EXPECT_EQ(rounds.counted().confirmed, nullptr);
  EXPECT_TRUE(rounds.left(1).empty());
}

TEST(KnownRoundsTest, ARoundThatIsToldMeanwhileIsTheOneThatCounts) {
  KnownRounds rounds;
  rounds.begin(round_of(1, {1, 2}));
  rounds.ran_everywhere({16, 1});
  LastRound told;
  told.round = 2;
  told.term = 16;
  EXPECT_TRUE(rounds.learn(told));
  EXPECT_FALSE(rounds.learn(told)) << "no news";
  ASSERT_NE(rounds.counted().latest, nullptr);
  EXPECT_EQ(rounds.counted().latest->round, 2U);
  EXPECT_EQ(rounds.counted().confirmed->round, 1U);
  EXPECT_TRUE(rounds.adopt_later());
  EXPECT_FALSE(rounds.adopt_later());
  EXPECT_EQ(rounds.last->round, 2U);
  EXPECT_EQ(rounds.confirmed->round, 1U);
}

}  // namespace
}  // namespace muster::rendezvous
