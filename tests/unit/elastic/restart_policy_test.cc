// Budget and pauses of the restart policy.
#include "elastic/restart_policy.h"

#include <gtest/gtest.h>

namespace muster::elastic {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

RestartDecision decide(int used, int max_restarts, Duration backoff = Duration::zero(),
                       double jitter = 0) {
  return decide_restart({.used = used}, {.max_restarts = max_restarts, .backoff = backoff}, jitter);
}

TEST(RestartPolicy, GrantsExactlyTheBudget) {
  EXPECT_TRUE(decide(0, 3).restart);
  EXPECT_TRUE(decide(2, 3).restart);
  EXPECT_FALSE(decide(3, 3).restart);
  EXPECT_FALSE(decide(4, 3).restart);
  EXPECT_FALSE(decide(0, 0).restart);
}

TEST(RestartPolicy, GivesItsReasonWithNumbers) {
  EXPECT_EQ(decide(0, 3).reason, "restart 1 of 3 at once");
  EXPECT_EQ(decide(1, 3, seconds(4)).reason, "restart 2 of 3 in 4 s");
  EXPECT_EQ(decide(3, 3).reason, "all 3 restarts used");
  EXPECT_EQ(decide(1, 1).reason, "the only restart is used");
  EXPECT_EQ(decide(0, 0).reason, "no restarts allowed (--max-restarts 0)");
}

TEST(RestartPolicy, RestartsAtOnceWithoutBackoff) {
  for (int used = 0; used < 100; ++used) {
    EXPECT_EQ(decide(used, 100, Duration::zero(), 0.9).delay, Duration::zero());
  }
}

TEST(RestartPolicy, DoublesThePauseEachTime) {
  EXPECT_EQ(decide(0, 9, seconds(2)).delay, seconds(1));
  EXPECT_EQ(decide(1, 9, seconds(2)).delay, seconds(2));
  EXPECT_EQ(decide(2, 9, seconds(2)).delay, seconds(4));
}

TEST(RestartPolicy, JitterSpreadsThePauseOverItsUpperHalf) {
  EXPECT_EQ(decide(0, 1, seconds(10), 0).delay, seconds(5));
  EXPECT_EQ(decide(0, 1, seconds(10), 0.5).delay, milliseconds(7500));
  EXPECT_LT(decide(0, 1, seconds(10), 0.999).delay, seconds(10));
}

TEST(RestartPolicy, CapsThePauseHoweverManyRestartsWereUsed) {
  EXPECT_EQ(decide(9, 2'000'000'000, seconds(2)).delay, kMaxBackoff / 2);
  EXPECT_EQ(decide(1'999'999'999, 2'000'000'000, seconds(2)).delay, kMaxBackoff / 2);
}

TEST(RestartPolicy, NeverWaitsLessThanWasAskedFor) {
  EXPECT_EQ(decide(0, 9, minutes(20)).delay, minutes(10));
  EXPECT_EQ(decide(5, 9, minutes(20)).delay, minutes(10));
}

TEST(RestartPolicy, DoesNotRepeatAStartThatCannotWork) {
  const RestartDecision decision =
      decide_restart({.used = 0, .would_fail_again = true}, {.max_restarts = 3}, 0);
  EXPECT_FALSE(decision.restart);
  EXPECT_EQ(decision.reason, "not restarted: the same start would fail again");
}

}  // namespace
}  // namespace muster::elastic
