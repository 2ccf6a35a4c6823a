#include "mpi/rsh/rsh_request_table.h"

#include <gtest/gtest.h>

#include <set>

namespace muster::mpi {
namespace {

using enum RshState;
using enum RshEvent;
using enum RshAction;

constexpr auto kAllStates = {kIdle,          kRunning,       kSweeping, kReporting,
                             kStoppingAlone, kSweepingAlone, kEnded};

TEST(RshRequestTable, EveryPairIsDecidedAndEveryNonActionSaysWhy) {
  EXPECT_EQ(rsh_transitions().size(), kRshStates * kRshEvents);
  for (const RshTransition& row : rsh_transitions()) {
    EXPECT_EQ(&transition(row.state, row.event), &row);
    const bool idle = row.action == kNothing || row.action == kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
    if (row.action == kBug) {
      EXPECT_EQ(row.next, row.state);
    }
  }
}

// Walks `events` from the beginning; the last state, and that no step was a bug.
RshState after(std::initializer_list<RshEvent> events) {
  RshState state = kIdle;
  for (const RshEvent event : events) {
    const RshTransition& row = transition(state, event);
    EXPECT_NE(row.action, kBug) << to_string(state) << " " << to_string(event);
    state = row.next;
  }
  return state;
}

TEST(RshRequestTable, ACommandThatEndsIsSweptBeforeItIsReported) {
  EXPECT_EQ(transition(kRunning, kProcessEnded).action, kSweep);
  EXPECT_EQ(after({kRun, kProcessEnded, kTreeGone, kReported}), kEnded);
  EXPECT_EQ(transition(kSweeping, kTreeGone).action, kReport);
}

TEST(RshRequestTable, WithoutACallerNothingIsReported) {
  EXPECT_EQ(after({kRun, kCallerGone, kGraceOver, kProcessEnded, kTreeGone}), kEnded);
  EXPECT_EQ(after({kRun, kCallerGone, kProcessEnded, kTreeGone}), kEnded);
  EXPECT_EQ(after({kRun, kProcessEnded, kCallerGone, kTreeGone}), kEnded);
  for (const RshState state : {kStoppingAlone, kSweepingAlone}) {
    for (const RshTransition& row : rsh_transitions()) {
      if (row.state == state) {
        EXPECT_NE(row.action, kReport);
      }
    }
  }
}

TEST(RshRequestTable, ALostCallerIsTheOrderToKill) {
  EXPECT_EQ(transition(kRunning, kCallerGone).action, kTerminate);
  EXPECT_EQ(transition(kStoppingAlone, kGraceOver).action, kSweep);
}

TEST(RshRequestTable, WhateverRunsCanBeKilledAtOnce) {
  EXPECT_EQ(after({kRun, kKill, kProcessEnded, kTreeGone, kReported}), kEnded);
  EXPECT_EQ(after({kRun, kCallerGone, kKill, kTreeGone}), kEnded);
  for (const RshState state : kAllStates) EXPECT_NE(transition(state, kKill).action, kBug);
}

TEST(RshRequestTable, AfterTheEndNothingHappens) {
  for (const RshTransition& row : rsh_transitions()) {
    if (row.state == kEnded) {
      EXPECT_EQ(row.next, kEnded);
    }
  }
  EXPECT_EQ(after({kCallerGone}), kEnded);
  EXPECT_EQ(after({kRun, kNotStarted, kReported}), kEnded);
}

TEST(RshRequestTable, StatesAndEventsHaveNames) {
  std::set<std::string_view> names;
  for (const RshTransition& row : rsh_transitions()) {
    names.insert(to_string(row.state));
    names.insert(to_string(row.event));
  }
  EXPECT_EQ(names.size(), kRshStates + kRshEvents);
}

}  // namespace
}  // namespace muster::mpi
