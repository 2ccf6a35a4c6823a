// How often an agent wakes while its workers run and nothing happens, with the usual lease: a
// minute of heartbeats on a clock of its own. tests/bench/overhead.py measures the same of whole
// agents.
#include <gtest/gtest.h>

#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRest = 60s;
constexpr int kMostWakeUps = 2 * 60 * 9 / 10;  // two in a second, with some margin
constexpr Duration kLate = 1ms;                // a timer of epoll

class MemberAtRestTest : public testing::MemberFixture {};

TEST_F(MemberAtRestTest, WakesForItsHeartbeatAndTheAnswer) {
  options_.lease = JobOptions{}.lease;
  begin(std::nullopt);
  welcome();
  run_round(1);
  (void)sent<Heartbeat>();
  outputs_.clear();
  int wake_ups = 0;
  for (const TimePoint until = now_ + kRest; now_ < until;) {
    const auto deadline = member_->next_deadline();
    ASSERT_TRUE(deadline.has_value());
    now_ = *deadline + kLate;
    member_->on_tick(now_);
    ++wake_ups;
    const auto heartbeat = sent<Heartbeat>();
    outputs_.clear();
    if (!heartbeat) continue;
    now_ += kLate;
    member_->on_message(now_, 0, Ack{heartbeat->sequence, 1, false, 0, {}});
    ++wake_ups;
  }
  EXPECT_LE(wake_ups, kMostWakeUps);
  EXPECT_EQ(member_->state(), MemberState::kRunning);
}

}  // namespace
}  // namespace muster::rendezvous
