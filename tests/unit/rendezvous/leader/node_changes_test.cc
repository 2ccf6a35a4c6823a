// How many nodes a job lost and won, for its summary.
#include "rendezvous/leader/node_changes.h"

#include <gtest/gtest.h>

#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

using std::chrono::seconds;

class NodeChangesTest : public testing::LeaderFixture {
 protected:
  NodeChangesTest() {
    options_.min_nodes = 1;
    options_.max_nodes = 2;
    policy_.grow_at = now_;
  }
  // Node 0 alone has a later round, and ends it well.
  JobCounts end_alone(uint64_t round) {
    say(0, Started{round});
    say(0, Succeeded{round});
    return sent<Finish>(0)->counts;
  }
};

TEST_F(NodeChangesTest, AJobThatNothingHappensToHasOneAttempt) {
  run_two();
  for (const int node : {0, 1}) say(node, Succeeded{1});
  const JobCounts counts = sent<Finish>(1)->counts;
  EXPECT_EQ(counts.attempts, 1);
  EXPECT_EQ(counts.nodes_lost, 0);
  EXPECT_EQ(counts.nodes_joined, 0);
}

TEST_F(NodeChangesTest, WhoIsNotInTheNextRoundWasLost) {
  run_two();
  say(1, Goodbye{"got SIGTERM"});
  say(0, Stopped{1});
  pass(seconds(30), {0});
  ASSERT_EQ(sent<Assign>(0)->round, 2u);
  const JobCounts counts = end_alone(2);
  EXPECT_EQ(counts.attempts, 2);
  EXPECT_EQ(counts.nodes_lost, 1);
}

TEST_F(NodeChangesTest, WhoWasNotInTheRoundBeforeHasJoined) {
  run_two();
  say(1, Goodbye{"got SIGTERM"});
  say(0, Stopped{1});
  join(2);
  for (const int node : {0, 2}) say(node, Started{2});
  for (const int node : {0, 2}) say(node, Succeeded{2});
  ASSERT_TRUE(sent<Finish>(2));
  EXPECT_EQ(sent<Finish>(2)->counts.nodes_lost, 1);
  EXPECT_EQ(sent<Finish>(2)->counts.nodes_joined, 1);
}

TEST_F(NodeChangesTest, WhatEarlierLeadersCountedCounts) {
  NodeChanges changes;
  BudgetState next;
  next.nodes_lost = 3;
  changes.take(next);
  next.nodes_lost = 2;  // of an earlier leader
  next.nodes_joined = 2;
  changes.take(next);
  changes.put_into(next);
  EXPECT_EQ(next.nodes_lost, 3);
  EXPECT_EQ(next.nodes_joined, 2);
  EXPECT_EQ(changes.at_end({}, {}, true).nodes_lost, 3);
}

}  // namespace
}  // namespace muster::rendezvous
