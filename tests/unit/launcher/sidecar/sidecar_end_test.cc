#include "launcher/sidecar/sidecar_end.h"

#include <gtest/gtest.h>

#include "base/exit_code.h"

namespace muster::launcher {
namespace {

using namespace std::chrono_literals;

constexpr Duration kFlush = 30s;

// A job that has told its end, all of which was delivered.
SidecarFacts over() {
  return {.has_lines = true, .has_end = true, .had_news = true, .delivered = true};
}

void expect_stays(const SidecarFacts& facts) { EXPECT_FALSE(judge_end(facts, kFlush).ends); }
void expect_ends(const SidecarFacts& facts, int code) {
  const auto verdict = judge_end(facts, kFlush);
  EXPECT_TRUE(verdict.ends);
  EXPECT_EQ(verdict.exit_code, code);
  EXPECT_FALSE(verdict.reason.empty());
}

TEST(SidecarEndTest, EndsAtOnceWhenTheEndIsDelivered) { expect_ends(over(), kExitSuccess); }

TEST(SidecarEndTest, StaysWhileTheAgentDoes) {
  SidecarFacts facts = over();
  facts.agent_there = true;
  facts.without_agent = 1h;
  expect_stays(facts);
  facts.asked = true;
  facts.since_asked = kFlush - 1ms;
  expect_stays(facts);
  facts.since_asked = kFlush;
  expect_ends(facts, kExitSuccess);
}

TEST(SidecarEndTest, WaitsForAnAgentForEver) {
  expect_stays({.delivered = true, .without_agent = 24h});
  expect_ends({.delivered = true, .asked = true, .without_agent = 1s}, kExitSuccess);
}

TEST(SidecarEndTest, AnAgentThatWasKilledMayHaveASuccessor) {
  SidecarFacts facts = over();
  facts.has_end = false;
  facts.without_agent = 4s;
  expect_stays(facts);
  facts.without_agent = kSuccessorWait;
  expect_ends(facts, kExitSuccess);
  facts.without_agent = 0s;
  facts.asked = true;
  expect_ends(facts, kExitSuccess);
}

TEST(SidecarEndTest, AnEndThatWasToldBeforeIsWaitedAtAMoment) {
  SidecarFacts facts = over();
  facts.had_news = false;
  facts.without_agent = kNothingNewWait - 1ms;
  expect_stays(facts);
  facts.without_agent = kNothingNewWait;
  expect_ends(facts, kExitSuccess);
}

TEST(SidecarEndTest, AReceiverThatIsAwayHoldsThePodForLessThanTwoMinutes) {
  SidecarFacts facts = over();
  facts.delivered = false;
  facts.without_agent = 100s;
  expect_stays(facts);
  facts.without_agent = kMaxAfterAgent;
  expect_ends(facts, kExitSuccess);  // the job's end is known: a finished pod does not run again
  facts.has_end = false;
  expect_ends(facts, kExitRetry);
  EXPECT_LT(kMaxAfterAgent, 2min);
}

TEST(SidecarEndTest, WhatIsUndeliveredWhenTheTimeIsOverIsTold) {
  SidecarFacts facts = over();
  facts.delivered = false;
  facts.asked = true;
  facts.since_asked = 29s;
  expect_stays(facts);
  facts.since_asked = kFlush;
  expect_ends(facts, kExitSuccess);
  facts.agent_there = true;
  expect_ends(facts, kExitRetry);
}

}  // namespace
}  // namespace muster::launcher
