#include "launcher/sidecar/retry_policy.h"

#include <gtest/gtest.h>

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

TEST(WebhookVerdictTest, EachClassOfAnswersHasItsMeaning) {
  for (const int taken : {200, 202, 204, 299})
    EXPECT_EQ(webhook_verdict(taken, 5, true), Verdict::kTaken) << taken;
  for (const int again : {300, 301, 302, 307, 308, 408, 429, 500, 502, 503, 504, 599})
    EXPECT_EQ(webhook_verdict(again, 5, true), Verdict::kAgain) << again;
  for (const int anew : {401, 403}) EXPECT_EQ(webhook_verdict(anew, 5, true), Verdict::kAnew);
  for (const int dead : {400, 402, 404, 405, 410, 422, 499})
    EXPECT_EQ(webhook_verdict(dead, 1, true), Verdict::kDeadLetter) << dead;
  EXPECT_EQ(webhook_verdict(422, 5, true), Verdict::kLess);  // one of them is the reason
}

TEST(WebhookVerdictTest, ABodyIsMadeSmallerAsLongAsItCanBe) {
  EXPECT_EQ(webhook_verdict(413, 2, true), Verdict::kLess);
  EXPECT_EQ(webhook_verdict(413, 1, true), Verdict::kDeadLetter);
}

TEST(WebhookVerdictTest, AReceiverWithoutGzipGetsPlainText) {
  EXPECT_EQ(webhook_verdict(415, 2, true), Verdict::kPlain);
  EXPECT_EQ(webhook_verdict(415, 1, false), Verdict::kDeadLetter);
}

TEST(RetryAfterTest, IsSecondsOrADate) {
  const WallTime now = WallTime(784111777s);  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(parse_retry_after("7", now), 7s);
  EXPECT_EQ(parse_retry_after(" 0 ", now), 0s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:50:07 GMT", now), 30s);
  EXPECT_EQ(parse_retry_after("Sun, 06 Nov 1994 08:00:00 GMT", now), 0s);
  for (const char* wrong :
       {"", "soon", "-1", "1.5", "Sun, 31 Feb 1994 08:50:07 GMT", "Sun, 06 Nov 95 08:50:07 GMT",
        "Sun, 06 Nov 1994 08:50:07", "06 Nov 1994 08:50:07 GMT"}) {
    EXPECT_FALSE(parse_retry_after(wrong, now)) << wrong;
  }
}

TEST(BackoffTest, WaitsGrowAndAreAtMostTenSecondsAtFirst) {
  const TimePoint start = TimePoint(1h);
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Backoff backoff(kMaxRetryWait, seed);
    TimePoint now = start;
    Duration most{};
    while (now - start < 60s) {
      const Duration wait = backoff.failed(now, std::nullopt);
      EXPECT_GT(wait, 0s);
      EXPECT_LE(wait, kShortRetryWait);
      most = std::max(most, wait);
      now += wait;
    }
    EXPECT_GT(most, 2s);
    EXPECT_GT(backoff.failures(), 5);
  }
}

TEST(BackoffTest, TheFirstWaitIsShort) {
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_LE(Backoff(kMaxRetryWait, seed).failed({}, std::nullopt), 500ms);
}

TEST(BackoffTest, ALongOutageIsAskedAboutLessOften) {
  const TimePoint start = TimePoint(1h);
  Backoff backoff(kMaxRetryWait, 1);
  (void)backoff.failed(start, std::nullopt);
  Duration most{};
  for (int i = 0; i < 200; ++i) most = std::max(most, backoff.failed(start + 1h, std::nullopt));
  EXPECT_LE(most, kMaxRetryWait);
  EXPECT_GT(most, kMaxRetryWait / 2);
}

TEST(BackoffTest, WhatTheReceiverAsksForIsObeyedUpToAMinute) {
  Backoff backoff(kMaxRetryWait, 1);
  for (int i = 0; i < 20; ++i) {
    const Duration wait = backoff.failed({}, 7s);
    EXPECT_GE(wait, 7s);
    EXPECT_LE(wait, 8s);
  }
  EXPECT_EQ(backoff.failed({}, 1h), kMaxRetryWait);
}

TEST(BackoffTest, ASuccessBeginsItAnew) {
  Backoff backoff(kMaxRetryWait, 1);
  for (int i = 0; i < 10; ++i) (void)backoff.failed({}, std::nullopt);
  EXPECT_EQ(backoff.succeeded(), 10);
  EXPECT_EQ(backoff.succeeded(), 0);
  EXPECT_LE(backoff.failed({}, std::nullopt), 500ms);
}

}  // namespace
}  // namespace muster::launcher
