#include "rendezvous/agreement/roll_call.h"

#include <gtest/gtest.h>

#include <chrono>

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

std::vector<RosterEntry> nodes(size_t count) {
  std::vector<RosterEntry> nodes(count);
  for (size_t i = 0; i < count; ++i) {
    nodes[i].identity.incarnation = i + 1;
    nodes[i].host = "10.0.0.1";
    nodes[i].port = static_cast<int>(i + 1);
  }
  return nodes;
}

TEST(RollCallTest, AsksEachOnceAndTellsWhoseAnswerItIs) {
  RollCall call;
  call.begin(nodes(2), TimePoint(seconds(3)));
  const auto first = call.next();
  const auto second = call.next();
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(call.next());
  EXPECT_EQ(first->port, 1);
  EXPECT_EQ(call.answered(second->dial), 2U);
  EXPECT_EQ(call.answered(second->dial), std::nullopt) << "once";
  EXPECT_EQ(call.answered(77), std::nullopt);
}

TEST(RollCallTest, AsksOnlySoManyAtATime) {
  RollCall call;
  call.begin(nodes(RollCall::kAtOnce + 2), TimePoint(seconds(3)));
  std::optional<NodeDial> last;
  for (size_t i = 0; i < RollCall::kAtOnce; ++i) {
    last = call.next();
    ASSERT_TRUE(last);
  }
  EXPECT_FALSE(call.next());
  EXPECT_FALSE(call.is_due(TimePoint(seconds(3)))) << "the one before is not over";
  EXPECT_EQ(call.wake_at(), std::nullopt) << "answers are awaited";
  EXPECT_TRUE(call.answered(last->dial));
  EXPECT_TRUE(call.next());
  EXPECT_FALSE(call.next());
  call.end();
  EXPECT_TRUE(call.is_due(TimePoint(seconds(3))));
}

TEST(RollCallTest, LeavesOutWhoNeedsNotToBeAskedAnyMore) {
  RollCall call;
  call.begin(nodes(3), TimePoint(seconds(3)));
  const auto awaited = [](uint64_t node) { return node == 3; };
  const auto only = call.next(awaited);
  ASSERT_TRUE(only);
  EXPECT_EQ(call.answered(only->dial), 3U);
  EXPECT_FALSE(call.next(awaited));
}

TEST(RollCallTest, IsDueAtOnceAndThenWhenItWasSaid) {
  RollCall call;
  EXPECT_TRUE(call.is_due(TimePoint(seconds(1))));
  call.begin({}, TimePoint(seconds(3)));
  EXPECT_FALSE(call.is_due(TimePoint(seconds(2))));
  EXPECT_EQ(call.wake_at(), TimePoint(seconds(3)));
  EXPECT_TRUE(call.is_due(TimePoint(seconds(3))));
  call.wait_until(TimePoint::max());
  EXPECT_EQ(call.wake_at(), std::nullopt);
}

}  // namespace
}  // namespace muster::rendezvous
