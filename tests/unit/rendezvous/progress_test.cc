// What workers reach travels with the heartbeats to the leader's policy, which gives restarts back.
#include "tests/support/leader_fixture.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

class MemberProgressTest : public testing::MemberFixture {};
class LeaderProgressTest : public testing::LeaderFixture {};

TEST_F(MemberProgressTest, TheNextHeartbeatHasTheFurthestStep) {
  begin(std::nullopt);
  welcome();
  run_round(1);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, -1);
  member_->on_progress(now_, 7);
  member_->on_progress(now_, 5);
  beat(2s);
  EXPECT_EQ(sent<Heartbeat>()->step, 7);
}

TEST_F(LeaderProgressTest, ThePolicyHearsOfStepsAndOfNothingElse) {
  run_two();
  pass(2s, {0, 1});
  EXPECT_TRUE(policy_.steps.empty());
  say(1, Heartbeat{.sequence = 100, .round = 1, .step = 7, .echo_ms = clock_ms()});
  EXPECT_EQ(policy_.steps, std::vector<int64_t>{7});
}

}  // namespace
}  // namespace muster::rendezvous
