// Nodes that no round ever used: the job's success is theirs if they were meant to be there.
#include <gtest/gtest.h>

#include "base/exit_code.h"
#include "tests/support/leader_fixture.h"

namespace muster::rendezvous {
namespace {

class UnusedNodesTest : public testing::LeaderFixture {
 protected:
  UnusedNodesTest() {
    options_.min_nodes = 2;
    options_.max_nodes = 2;
  }
  void succeed_two() {
    for (const int node : {0, 1}) say(node, Succeeded{1});
    ASSERT_EQ(leader_->state(), LeaderState::kFinished);
  }
  void expect_unavailable(int node) {
    ASSERT_TRUE(sent<Finish>(node)) << node;
    EXPECT_FALSE(sent<Finish>(node)->success);
    EXPECT_EQ(sent<Finish>(node)->exit_code, kExitUnavailable);
    EXPECT_NE(sent<Finish>(node)->reason.find("the job 'job' of 2 nodes was complete"),
              std::string::npos)
        << sent<Finish>(node)->reason;
  }
  void expect_success(int node) {
    ASSERT_TRUE(sent<Finish>(node)) << node;
    EXPECT_TRUE(sent<Finish>(node)->success);
  }
};

TEST_F(UnusedNodesTest, WhoIsThereBeyondTheDeclaredNodesDoesNotSucceed) {
  run_two();
  for (const int node : {2, 3}) join(node);
  succeed_two();
  for (const int node : {0, 1}) expect_success(node);
  for (const int node : {2, 3}) expect_unavailable(node);
}

TEST_F(UnusedNodesTest, DeclaredSparesSucceedInTheOrderInWhichTheyCame) {
  options_.spares = 1;
  run_two();
  for (const int node : {2, 3}) join(node);
  succeed_two();
  expect_success(2);
  EXPECT_NE(sent<Finish>(2)->reason.find("a spare"), std::string::npos);
  EXPECT_EQ(sent<Finish>(0)->reason.find("a spare"), std::string::npos);
  expect_unavailable(3);
}

TEST_F(UnusedNodesTest, WhoComesAfterTheEndIsJudgedAlike) {
  run_two();
  succeed_two();
  say(1, Goodbye{"done"});
  join(2);
  Join twin = join_of(1);  // of another job: the node of this place heard of the end
  twin.identity.incarnation = 77;
  join(3, twin);
  for (const int node : {2, 3}) expect_unavailable(node);
}

TEST_F(UnusedNodesTest, TheSuccessorOfANodeThatWasLostAfterItsSuccessSucceeds) {
  run_two();
  say(1, Succeeded{1});
  say(1, Goodbye{"killed"});
  Join again = join_of(1);
  again.identity.incarnation = 77;
  again.host = "10.0.0.77";
  join(2, again);
  say(0, Succeeded{1});
  ASSERT_EQ(leader_->state(), LeaderState::kFinished);
  expect_success(2);
  // It did not hear of it, and asks again.
  outputs_.clear();
  join(2, again);
  expect_success(2);
}

TEST_F(UnusedNodesTest, WhoWasInAnEarlierRoundSucceeds) {
  options_.min_nodes = 1;
  run_two();
  ASSERT_TRUE(leader_->resize(now_, {.nodes = 1, .by = "worker-9"}).has_value());
  turn();
  for (const int node : {0, 1}) say(node, Stopped{1});
  ASSERT_EQ(sent<Assign>(0)->node_count, 1);
  join(2);
  say(0, Started{2});
  say(0, Succeeded{2});
  ASSERT_EQ(leader_->state(), LeaderState::kFinished);
  for (const int node : {0, 1}) expect_success(node);
  EXPECT_FALSE(sent<Finish>(2)->success);
}

TEST_F(UnusedNodesTest, AFailureIsToldToAllAlike) {
  run_two();
  join(2);
  policy_.max_restarts = 0;
  say(1, failure(1));
  for (const int node : {0, 1}) say(node, Stopped{1});
  ASSERT_EQ(leader_->state(), LeaderState::kFinished);
  EXPECT_EQ(sent<Finish>(2)->reason, sent<Finish>(0)->reason);
  EXPECT_EQ(sent<Finish>(2)->exit_code, sent<Finish>(0)->exit_code);
}

}  // namespace
}  // namespace muster::rendezvous
