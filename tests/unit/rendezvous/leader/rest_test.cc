// How often an agent wakes while its workers run and nothing happens, with the usual lease: a
// minute of heartbeats on a clock of its own. tests/bench/overhead.py measures the same of whole
// agents.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/leader_fixture.h"
#include "tests/support/member_fixture.h"

namespace muster::rendezvous {
namespace {

using namespace std::chrono_literals;

constexpr Duration kRest = 60s;
constexpr int kMostWakeUps = 2 * 60 * 9 / 10;  // two in a second, with some margin
constexpr Duration kLate = 1ms;                // a timer of epoll

class LeaderAtRestTest : public testing::LeaderFixture {};
class MemberAtRestTest : public testing::MemberFixture {};

struct Beating {
  TimePoint at;         // the next heartbeat
  int64_t echo_ms = 0;  // of the answer to the last one
};

TEST_F(LeaderAtRestTest, WakesForHeartbeatsAlone) {
  options_.lease = JobOptions{}.lease;
  const Duration period = lease_times(options_.lease).heartbeat + kLate;
  // How long after its own node's heartbeat that of the other comes.
  for (Duration behind = 0ms; behind < period; behind += 100ms) {
    run_two();
    std::vector<Beating> nodes = {{now_ + period}, {now_ + period + behind}};
    int for_beats = 0, for_itself = 0;
    for (const TimePoint until = now_ + kRest; now_ < until;) {
      const TimePoint next = std::min(nodes[0].at, nodes[1].at);
      const auto deadline = leader_->next_deadline();
      if (deadline && *deadline < next) {
        ++for_itself;
        now_ = *deadline + kLate;
        turn();
        continue;
      }
      ++for_beats;
      now_ = next;
      for (size_t index = 0; index < nodes.size(); ++index) {
        Beating& node = nodes[index];
        if (node.at != now_) continue;
        leader_->on_message(now_, link_of(static_cast<int>(index)),
                            Heartbeat{1, leader_->round(), -1, node.echo_ms});
        node = {now_ + period, clock_ms()};
      }
      turn();
    }
    EXPECT_EQ(for_itself, 0) << to_seconds(behind);
    EXPECT_LE(for_beats, kMostWakeUps);
    EXPECT_EQ(leader_->state(), LeaderState::kRunning);
  }
}

// What came with its own node's heartbeats before comes on its own when the other one is silent.
TEST_F(LeaderAtRestTest, SuspectsASilentNodeInTime) {
  options_.lease = JobOptions{}.lease;
  const LeaseTimes times = lease_times(options_.lease);
  for (Duration behind = 0ms; behind < times.heartbeat; behind += 100ms) {
    run_two();
    pass(5s, {0, 1});
    const TimePoint heard = now_;
    TimePoint beat = heard + behind;
    while (!suspects()) {
      const auto deadline = leader_->next_deadline();
      ASSERT_TRUE(deadline.has_value());
      now_ = std::min(*deadline, beat);
      if (now_ == beat) {
        leader_->on_message(now_, link_of(0), Heartbeat{1, leader_->round(), -1, clock_ms()});
        beat += times.heartbeat;
      }
      turn();
    }
    EXPECT_EQ(now_, heard + times.suspect) << to_seconds(behind);
    outputs_.clear();
  }
}

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
