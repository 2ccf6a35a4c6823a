#include "nccl/pairs/pair_schedule.h"

#include <gtest/gtest.h>

namespace muster::nccl {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

TEST(PairSchedule, TheSecondRoundIsTurnedByOne) {
  EXPECT_EQ(pairs_of(4, 0), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pairs_of(4, 1), (Pairs{{0, 3}, {1, 2}}));
  EXPECT_EQ(pairs_of(5, 0), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(pairs_of(5, 1), (Pairs{{1, 2}, {3, 4}}));
  EXPECT_EQ(pairs_of(3, 1), (Pairs{{1, 2}}));
  EXPECT_EQ(pairs_of(3, 2), (Pairs{{0, 2}}));
}

TEST(PairSchedule, TwoNodesHaveOnePairAndOneHasNone) {
  EXPECT_EQ(pair_rounds(2), 1);
  EXPECT_EQ(pairs_of(2, 0), (Pairs{{0, 1}}));
  EXPECT_EQ(pair_rounds(1), 0);
  EXPECT_EQ(pair_rounds(0), 0);
  EXPECT_EQ(pair_rounds(3), 3);
  EXPECT_EQ(pair_rounds(1000), 2);
}

TEST(PairSchedule, EveryNodeIsMeasuredAndPartnersAgree) {
  for (int nodes = 2; nodes < 40; ++nodes) {
    for (int node = 0; node < nodes; ++node) {
      bool measured = false;
      for (int round = 0; round < pair_rounds(nodes); ++round) {
        const auto partner = partner_of(node, nodes, round);
        if (!partner) continue;
        measured = true;
        EXPECT_NE(*partner, node);
        EXPECT_EQ(partner_of(*partner, nodes, round), node) << nodes << " nodes, round " << round;
      }
      EXPECT_TRUE(measured) << node << " of " << nodes;
    }
  }
}

}  // namespace
}  // namespace muster::nccl
