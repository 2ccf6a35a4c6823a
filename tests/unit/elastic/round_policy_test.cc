#include "elastic/round_policy.h"

#include <gtest/gtest.h>

#include "elastic/preemption.h"

namespace muster::elastic {
namespace {

using namespace std::chrono_literals;
using rendezvous::Failure;

const TimePoint kNow{1000s};

std::vector<Failure> one(int code) {
  Failure failure;
  failure.exit_code = code;
  failure.failure_class = "user error";
  failure.happened = kNow;
  return {failure};
}

RoundPolicyOptions budget_of(int restarts) {
  RoundPolicyOptions options;
  options.restarts.max_restarts = restarts;
  return options;
}

TEST(RoundPolicy, TheBudgetIsUsedUpOnce) {
  RoundPolicy policy(budget_of(2), 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_TRUE(policy.after_failures(kNow, one(2)).restart);
  const auto verdict = policy.after_failures(kNow, one(3));
  EXPECT_FALSE(verdict.restart);
  EXPECT_EQ(verdict.reason, "all 2 restarts used");
}

TEST(RoundPolicy, WorkersThatStartAgainAloneUseTheSameBudgetAndAreNoCrashLoop) {
  RoundPolicy policy(budget_of(5), 1);
  for (int restart = 0; restart < 4; ++restart)
    EXPECT_TRUE(policy.after_lone_failure(kNow).restart);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_EQ(policy.after_lone_failure(kNow).reason, "all 5 restarts used");
  RoundPolicy successor(budget_of(5), 2);
  successor.restore(kNow, policy.budget(kNow));
  EXPECT_FALSE(successor.after_lone_failure(kNow).restart);
}

TEST(RoundPolicy, ProgressOfOthersGivesBackNoRestartOfOneWorker) {
  RoundPolicy policy(budget_of(2), 1);
  for (int64_t step = 1; step <= 2; ++step) {
    EXPECT_TRUE(policy.after_lone_failure(kNow).restart);
    policy.progressed(kNow, step);
  }
  EXPECT_FALSE(policy.after_lone_failure(kNow).restart);
}

TEST(RoundPolicy, ASuccessorGoesOnWithTheSameBudget) {
  RoundPolicy policy(budget_of(2), 1);
  (void)policy.after_failures(kNow, one(1));
  RoundPolicy successor(budget_of(2), 2);
  successor.restore(kNow, policy.budget(kNow));
  successor.restore(kNow, {});  // an older copy changes nothing
  EXPECT_EQ(successor.budget(kNow), policy.budget(kNow));
  EXPECT_TRUE(successor.after_failures(kNow, one(2)).restart);
  EXPECT_FALSE(successor.after_failures(kNow, one(3)).restart);
}

TEST(RoundPolicy, TheSameFailureThreeTimesIsACrashLoopUnlessThereWasProgress) {
  RoundPolicy policy(budget_of(9), 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  policy.progressed(kNow, 10);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  policy.progressed(kNow, 10);  // not beyond what was reached
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_FALSE(policy.after_failures(kNow, one(1)).restart);
}

TEST(RoundPolicy, AFailureAfterTenMinutesIsNoCrashLoop) {
  RoundPolicy policy(budget_of(9), 1);
  std::vector<Failure> late = one(1);
  late.front().alive_ms = 600'000;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(policy.after_failures(kNow, late).restart);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_FALSE(policy.after_failures(kNow, one(1)).restart);
}

TEST(RoundPolicy, AWindowForgetsWhatLiesBeforeIt) {
  RoundPolicyOptions options = budget_of(2);
  options.window = 1min;
  RoundPolicy policy(options, 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_TRUE(policy.after_failures(kNow + 1s, one(2)).restart);
  EXPECT_FALSE(policy.after_failures(kNow + 59s, one(3)).restart);
  EXPECT_TRUE(policy.after_failures(kNow + 1min, one(4)).restart);
  EXPECT_FALSE(policy.after_failures(kNow + 1min, one(5)).restart);
}

TEST(RoundPolicy, TorchrunUsesUpAllItsRestarts) {
  RoundPolicyOptions options = budget_of(5);
  options.stop_crash_loops = false;
  RoundPolicy policy(options, 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_FALSE(policy.after_failures(kNow, one(1)).restart);
}

TEST(RoundPolicy, ProgressGivesOneRestartBack) {
  RoundPolicy policy(budget_of(1), 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  policy.progressed(kNow, 5);
  policy.progressed(kNow, 6);
  EXPECT_EQ(policy.budget(kNow).restarts_used, 0);
  EXPECT_TRUE(policy.after_failures(kNow, one(2)).restart);
  EXPECT_FALSE(policy.after_failures(kNow, one(3)).restart);
}

// Else each change of the leader would give another one back.
TEST(RoundPolicy, WhatProgressGaveBackASuccessorDoesNotGiveBackAgain) {
  RoundPolicy policy(budget_of(2), 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  EXPECT_TRUE(policy.after_failures(kNow, one(2)).restart);
  RoundPolicy before(budget_of(2), 2);
  before.restore(kNow, policy.budget(kNow));
  before.progressed(kNow, 5);
  EXPECT_EQ(before.budget(kNow).restarts_used, 1);
  RoundPolicy after(budget_of(2), 3);
  after.restore(kNow, before.budget(kNow));
  EXPECT_EQ(after.budget(kNow), before.budget(kNow));
  after.progressed(kNow, 6);
  EXPECT_EQ(after.budget(kNow).restarts_used, 1);
  EXPECT_TRUE(after.after_failures(kNow, one(3)).restart);
  after.progressed(kNow, 7);  // that one is a new one
  EXPECT_EQ(after.budget(kNow).restarts_used, 1);
}

TEST(RoundPolicy, AWindowForgetsOldRestartsAlsoAfterATakeOver) {
  RoundPolicyOptions options = budget_of(1);
  options.window = 10min;
  RoundPolicy policy(options, 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  RoundPolicy successor(options, 1);
  const TimePoint elsewhere{5s};  // another machine's clock
  successor.restore(elsewhere, policy.budget(kNow + 9min));
  EXPECT_FALSE(successor.after_failures(elsewhere, one(2)).restart);
  EXPECT_TRUE(successor.after_failures(elsewhere + 1min, one(3)).restart);
}

// A fresh leader hears of the restarts first from somebody who does not know how old they are.
TEST(RoundPolicy, OfTwoCopiesTheOlderAgesCount) {
  RoundPolicyOptions options = budget_of(1);
  options.window = 10min;
  RoundPolicy policy(options, 1);
  EXPECT_TRUE(policy.after_failures(kNow, one(1)).restart);
  const rendezvous::BudgetState young = policy.budget(kNow);
  RoundPolicy successor(options, 1);
  successor.restore(kNow + 11min, young);
  successor.restore(kNow + 11min, policy.budget(kNow + 11min));
  successor.restore(kNow + 11min, young);
  EXPECT_TRUE(successor.after_failures(kNow + 11min, one(2)).restart);
}

TEST(RoundPolicy, BackoffIsSpread) {
  RoundPolicyOptions options = budget_of(3);
  options.restarts.backoff = 10s;
  const Duration a = RoundPolicy(options, 1).after_failures(kNow, one(1)).delay;
  const Duration b = RoundPolicy(options, 2).after_failures(kNow, one(1)).delay;
  EXPECT_NE(a, b);
  EXPECT_GE(std::min(a, b), 5s);
  EXPECT_LE(std::max(a, b), 10s);
}

TEST(RoundPolicy, GrowthWaitsForQuietAndInterval) {
  RoundPolicyOptions options = budget_of(0);
  options.scale_up_interval = 5min;
  options.scale_up_quiet = 1min;
  RoundPolicy policy(options, 1);
  policy.round_started(kNow, true);
  EXPECT_EQ(policy.may_grow(kNow).at, kNow + 5min);
  EXPECT_TRUE(policy.may_grow(kNow + 5min).now);
  policy.round_started(kNow + 5min, false);
  EXPECT_FALSE(policy.may_grow(kNow + 5min).now);
  EXPECT_TRUE(policy.may_grow(kNow + 6min).now);
}

TEST(RoundPolicy, ALostNodesPlaceIsKeptForTheReplaceWait) {
  RoundPolicyOptions options = budget_of(0);
  EXPECT_EQ(RoundPolicy(options, 1).replace_until(kNow), kNow + 30s);
  options.replace_wait = 7s;
  EXPECT_EQ(RoundPolicy(options, 1).replace_until(kNow), kNow + 7s);
}

TEST(Preemption, TheLeaverIsToldTheOthersOnlyIfAsked) {
  PreemptionOptions options;
  EXPECT_EQ(plan_preemption(options, true, 30s, "worker-1").signal, SIGTERM);
  EXPECT_EQ(plan_preemption(options, false, 30s, "worker-1").signal, 0);
  options.notify_all = true;
  EXPECT_EQ(plan_preemption(options, false, 30s, "worker-1").signal, SIGTERM);
  EXPECT_EQ(plan_preemption(options, true, 0s, "worker-1").signal, 0);
}

}  // namespace
}  // namespace muster::elastic
