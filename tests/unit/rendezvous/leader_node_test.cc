#include "rendezvous/leader_node.h"

#include <gtest/gtest.h>

#include <map>

namespace muster::rendezvous {
namespace {

TEST(LeaderNode, IsCountedAsItChangesAndNoMoreOnceItIsGone) {
  NodeCounts counts;
  std::map<uint64_t, LeaderNode> nodes;
  LeaderNode& one = nodes.try_emplace(1, counts).first->second;
  LeaderNode& two = nodes.try_emplace(2, counts).first->second;
  EXPECT_EQ(counts.unlinked, 2);
  EXPECT_EQ(counts.in_any(), 0);
  one.set_link(7);
  one.set_rank(0);
  one.set_progress(NodeProgress::kStarted);
  two.set_rank(1);
  EXPECT_EQ(counts.unlinked, 1);
  EXPECT_EQ(counts.in(NodeProgress::kStarted), 1);
  EXPECT_EQ(counts.in(NodeProgress::kIdle), 1);
  two.set_progress(NodeProgress::kEnding);
  two.set_rank(-1);
  EXPECT_EQ(counts.ending, 1);
  EXPECT_EQ(counts.in_any(), 1);
  one.set_leave_by(TimePoint{});
  EXPECT_EQ(counts.leaving, 1);
  const auto taken_out = nodes.extract(1);
  EXPECT_EQ(taken_out.mapped().rank(), 0);
  nodes.clear();
  EXPECT_EQ(counts.ending + counts.unlinked, 0);
  EXPECT_EQ(counts.in_any(), 1);  // the one that was taken out still lives
}

}  // namespace
}  // namespace muster::rendezvous
