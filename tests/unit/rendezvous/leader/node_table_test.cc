#include "rendezvous/leader/node_table.h"

#include <gtest/gtest.h>

#include <array>

namespace muster::rendezvous {
namespace {

std::vector<uint64_t> order_of(const NodeTable& nodes) {
  std::vector<uint64_t> order;
  for (const LeaderNode* node : nodes) order.push_back(node->incarnation());
  return order;
}

TEST(NodeTable, CountsNodesAsTheyChangeAndNoMoreOnceTheyAreGone) {
  NodeTable nodes;
  LeaderNode& one = *nodes.add(1).first;
  LeaderNode& two = *nodes.add(2).first;
  EXPECT_EQ(nodes.counts().unlinked, 2);
  EXPECT_EQ(nodes.counts().in_any(), 0);
  one.set_link(7);
  one.set_rank(0);
  one.set_progress(NodeProgress::kStarted);
  two.set_rank(1);
  EXPECT_EQ(nodes.counts().unlinked, 1);
  EXPECT_EQ(nodes.counts().in(NodeProgress::kStarted), 1);
  EXPECT_EQ(nodes.counts().in(NodeProgress::kIdle), 1);
  two.set_progress(NodeProgress::kEnding);
  two.set_rank(-1);
  EXPECT_EQ(nodes.counts().ending, 1);
  EXPECT_EQ(nodes.counts().in_any(), 1);
  one.set_leave_by(TimePoint{});
  EXPECT_EQ(nodes.counts().leaving, 1);
  auto taken_out = nodes.take_out(1);
  ASSERT_NE(taken_out, nullptr);
  EXPECT_EQ(taken_out->rank(), 0);
  EXPECT_EQ(nodes.counts().in_any(), 1);  // it still lives
  taken_out.reset();
  EXPECT_EQ(nodes.counts().in_any(), 0);
  nodes.take_out(2);
  EXPECT_EQ(nodes.counts().ending + nodes.counts().unlinked, 0);
}

TEST(NodeTable, FindsWhomItHasAndAddsNobodyTwice) {
  NodeTable nodes;
  const auto [added, fresh] = nodes.add(7);
  EXPECT_TRUE(fresh);
  EXPECT_EQ(nodes.add(7), std::pair(added, false));
  EXPECT_EQ(nodes.find(7), added);
  EXPECT_EQ(nodes.find(8), nullptr);
  EXPECT_EQ(nodes.take_out(8), nullptr);
  EXPECT_EQ(nodes.size(), 1U);
  nodes.take_out(7);
  EXPECT_TRUE(nodes.empty());
  EXPECT_FALSE(nodes.contains(7));
}

TEST(NodeTable, IsInTheOrderOfComingUntilSomeAreToBeFirst) {
  NodeTable nodes;
  for (const uint64_t incarnation : {5U, 3U, 9U, 1U}) nodes.add(incarnation);
  EXPECT_EQ(order_of(nodes), (std::vector<uint64_t>{5, 3, 9, 1}));
  nodes.put_first(std::array{nodes.find(1), nodes.find(3)});
  EXPECT_EQ(order_of(nodes), (std::vector<uint64_t>{1, 3, 5, 9}));
  nodes.take_out(3);
  nodes.add(2);
  EXPECT_EQ(order_of(nodes), (std::vector<uint64_t>{1, 5, 9, 2}));
  nodes.put_first({});
  EXPECT_EQ(order_of(nodes), (std::vector<uint64_t>{1, 5, 9, 2}));
}

}  // namespace
}  // namespace muster::rendezvous
