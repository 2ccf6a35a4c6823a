// What workers reach travels with the heartbeats to the leader: to its policy, which gives restarts
// back, and as evidence that who is silent lives.
#include "tests/support/leader_fixture.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

class MemberProgressTest : public testing::MemberFixture {};
class LeaderProgressTest : public testing::LeaderFixture {
 protected:
  // A heartbeat of that node, sent just now.
  void beat(int node, uint64_t round, int64_t step) {
    say(node, Heartbeat{.sequence = 100, .round = round, .step = step, .echo_ms = clock_ms()});
  }
};

TEST_F(MemberProgressTest, TheNextHeartbeatHasTheFurthestStep) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, -1);
  member_->on_progress(now_, 1, 7);
  member_->on_progress(now_, 1, 5);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, 7);
}

// It goes on from a checkpoint, which the workers before were beyond.
TEST_F(MemberProgressTest, ARoundBeginsWithoutTheStepsOfTheOneBefore) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  member_->on_progress(now_, 1, 7);
  member_->on_message(now_, 0, Stop{1, 0, "a node was lost"});
  member_->on_gone(now_, 1);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, 7);
  run_round(2);
  member_->on_progress(now_, 1, 8);  // late
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->round, 2u);
  EXPECT_EQ(sent<Heartbeat>()->step, -1);
  member_->on_progress(now_, 2, 3);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, 3);
}

TEST_F(LeaderProgressTest, ThePolicyHearsOfStepsAndOfNothingElse) {
  run_two();
  pass(2s, {0, 1});
  EXPECT_TRUE(policy_.steps.empty());
  beat(1, 1, 7);
  EXPECT_EQ(policy_.steps, std::vector<int64_t>{7});
}

TEST_F(LeaderProgressTest, ThePolicyHearsOfNewStepsOfTheRoundThatRuns) {
  run_two();
  beat(1, 1, 7);
  beat(0, 1, 7);  // the same step, of the other node
  beat(0, 1, 6);
  beat(1, 2, 8);  // of no round that there is
  beat(1, 0, 8);
  EXPECT_EQ(policy_.steps, std::vector<int64_t>{7});
  say(1, failure(1));
  beat(0, 1, 8);  // made before the round was stopped
  say(0, Stopped{1});
  say(1, Stopped{1});
  ASSERT_EQ(leader_->round(), 2u);
  beat(1, 1, 9);  // of round 1, and late
  beat(1, 2, 3);  // round 2 goes on from a checkpoint
  EXPECT_EQ(policy_.steps, (std::vector<int64_t>{7, 8, 3}));
}

TEST_F(LeaderProgressTest, AStepThatANodeOfNoRoundTellsIsNone) {
  options_.max_nodes = 2;
  run_two();
  join(2);  // a spare
  ASSERT_TRUE(sent<Waiting>(2)->spare);
  beat(2, 1, 7);
  EXPECT_TRUE(policy_.steps.empty());
}

// Node 1 is silent; node 0 tells how far the round has got. The lease is 10 s.
TEST_F(LeaderProgressTest, StepsInHeartbeatsProveThatASilentNodeLives) {
  run_two();
  for (int64_t step = 0; step < 25; ++step) {
    pass(1s, {0});
    beat(0, 1, step);
  }
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  EXPECT_NE(leader_->status_json(now_).find("\"suspect\":true"), std::string::npos);
  // Its round stands still: from the last step on it is silence like any other.
  pass(9500ms, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(1s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderProgressTest, ARoundThatRepeatsItsLastStepProvesNothing) {
  run_two();
  for (int i = 0; i < 11; ++i) {
    pass(1s, {0});
    beat(0, 1, 7);
    leader_->on_step(now_, 1, 7);
    leader_->on_step(now_, 1, 3);
  }
  // Told for the first time after a second.
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderProgressTest, StepsOfOtherRoundsProveNothing) {
  run_two();
  for (int64_t step = 0; step < 10; ++step) {
    pass(1s, {0});
    beat(0, 2, step);
    leader_->on_step(now_, 0, step);
    leader_->on_step(now_, 2, step);
  }
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderProgressTest, AStepThatANetworkHeldBackIsAsOldAsItsHeartbeat) {
  run_two();
  pass(2s, {0});
  const int64_t then = clock_ms();
  pass(8s, {0});
  ASSERT_EQ(leader_->state(), LeaderState::kStopping);  // not without the next line
  run_two();
  pass(9s, {0});
  say(0, Heartbeat{.sequence = 100, .round = 1, .step = 7, .echo_ms = then});
  pass(2500ms, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  pass(1s, {0});
  EXPECT_EQ(leader_->state(), LeaderState::kStopping);
}

TEST_F(LeaderProgressTest, WhileARoundIsStoppedItsStepsKeepNobody) {
  run_two();
  say(0, failure(1));
  say(0, Stopped{1});
  for (int64_t step = 0; step < 10; ++step) {
    pass(1s, {0});
    leader_->on_step(now_, 1, step);
  }
  EXPECT_EQ(leader_->nodes().size(), 1u);  // who did not stop in time is lost
}

// Its own node speaks in this process: when it is silent, this process slept, whatever others did.
TEST_F(LeaderProgressTest, StepsDoNotKeepALeaderThatSlept) {
  run_two();
  now_ += 11s;
  beat(1, 1, 7);
  EXPECT_TRUE(output<leader_output::StepDown>().has_value());
}

}  // namespace
}  // namespace muster::rendezvous
