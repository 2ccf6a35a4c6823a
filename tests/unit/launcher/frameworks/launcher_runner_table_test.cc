#include "launcher/frameworks/launcher_runner_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace muster::launcher {
namespace {

using enum LauncherState;
using enum LauncherEvent;
using enum LauncherAction;

TEST(LauncherRunnerTable, EveryPairIsDecidedAndEveryNonActionSaysWhy) {
  EXPECT_EQ(launcher_transitions().size(), kLauncherStates * kLauncherEvents);
  for (const LauncherTransition& row : launcher_transitions()) {
    EXPECT_EQ(&transition(row.state, row.event), &row);
    const bool idle = row.action == kNothing || row.action == kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
    if (row.action == kBug) {
      EXPECT_EQ(row.next, row.state);
    }
  }
}

// Walks `events` from kAsking; the last state, and that no step was a bug.
LauncherState after(std::initializer_list<LauncherEvent> events) {
  LauncherState state = kAsking;
  for (const LauncherEvent event : events) {
    const LauncherTransition& row = transition(state, event);
    EXPECT_NE(row.action, kBug) << to_string(state) << " " << to_string(event);
    state = row.next;
  }
  return state;
}

TEST(LauncherRunnerTable, ALauncherIsStartedOnceWithTheAgentOrWithout) {
  EXPECT_EQ(transition(kAsking, kNoted).action, kStartWatched);
  EXPECT_EQ(transition(kAsking, kAgentGone).action, kStartUnwatched);
  for (const LauncherTransition& row : launcher_transitions()) {
    if (row.action == kStartWatched || row.action == kStartUnwatched) {
      EXPECT_EQ(row.state, kAsking) << to_string(row.event);
    }
  }
}

TEST(LauncherRunnerTable, OnlyOneThatHungAndWasKilledIsSwept) {
  EXPECT_EQ(after({kNoted, kHangs, kKilled, kSwept, kNoted}), kFinished);
  EXPECT_EQ(after({kNoted, kHangs, kEnded}), kReporting);
  for (const LauncherTransition& row : launcher_transitions()) {
    if (row.action == kSweep) {
      EXPECT_EQ(row.state, kHanging) << to_string(row.event);
    }
  }
}

TEST(LauncherRunnerTable, ItsEndIsReportedBeforeThisProcessEnds) {
  EXPECT_EQ(after({kNoted, kEnded, kNoted}), kFinished);
  EXPECT_EQ(after({kNoted, kKilled, kNoAnswer}), kFinished);
  EXPECT_EQ(after({kNoted, kAgentGone, kEnded, kAgentGone}), kFinished);
  for (const LauncherTransition& row : launcher_transitions()) {
    if (row.action == kFinish && row.event != kNotStarted) {
      EXPECT_EQ(row.state, kReporting) << to_string(row.event);
    }
  }
}

// What the agent says, and that it goes, comes from outside: none of it is a bug of ours.
TEST(LauncherRunnerTable, NothingOfTheAgentsIsABug) {
  for (const LauncherTransition& row : launcher_transitions()) {
    if (row.event == kNoted || row.event == kAgentGone || row.event == kHangs) {
      EXPECT_NE(row.action, kBug) << to_string(row.state) << " " << to_string(row.event);
    }
  }
}

TEST(LauncherRunnerTable, NothingFollowsTheEnd) {
  for (const LauncherTransition& row : launcher_transitions()) {
    if (row.state == kFinished) {
      EXPECT_EQ(row.next, kFinished) << to_string(row.event);
    }
  }
}

TEST(LauncherRunnerTable, StatesAndEventsHaveNames) {
  std::set<std::string_view> names;
  for (const LauncherTransition& row : launcher_transitions()) {
    names.insert(to_string(row.state));
    names.insert(to_string(row.event));
  }
  EXPECT_EQ(names.size(), kLauncherStates + kLauncherEvents);
}

}  // namespace
}  // namespace muster::launcher
