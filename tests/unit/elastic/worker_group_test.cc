// The table of the worker group: that it is whole, and the lives it allows.
#include "elastic/worker_group.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace muster::elastic {
namespace {

using enum GroupState;
using enum GroupEvent;
using enum GroupAction;

struct Step {
  GroupEvent event;
  GroupState next;
  GroupAction action;
};

// Goes through a life from `state` on; every step must lead where it says.
void live(GroupState state, const std::vector<Step>& steps) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const GroupTransition row = transition(state, steps[i].event);
    EXPECT_EQ(row.next, steps[i].next) << "step " << i << ": " << to_string(state) << " + "
                                       << to_string(row.event) << " -> " << to_string(row.next);
    EXPECT_EQ(row.action, steps[i].action)
        << "step " << i << ": " << to_string(state) << " + " << to_string(row.event) << " does "
        << to_string(row.action);
    state = row.next;
  }
}

std::vector<GroupState> all_states() {
  std::vector<GroupState> states;
  for (size_t i = 0; i < kGroupStates; ++i) states.push_back(static_cast<GroupState>(i));
  return states;
}

std::vector<GroupEvent> all_events() {
  std::vector<GroupEvent> events;
  for (size_t i = 0; i < kGroupEvents; ++i) events.push_back(static_cast<GroupEvent>(i));
  return events;
}

TEST(WorkerGroupTable, HoldsEveryPairOnce) {
  std::set<std::pair<GroupState, GroupEvent>> seen;
  for (const GroupTransition& row : group_transitions()) {
    EXPECT_TRUE(seen.insert({row.state, row.event}).second)
        << "twice: " << to_string(row.state) << " + " << to_string(row.event);
  }
  for (const GroupState state : all_states()) {
    for (const GroupEvent event : all_events()) {
      EXPECT_TRUE(seen.contains({state, event}))
          << "missing: " << to_string(state) << " + " << to_string(event);
      EXPECT_EQ(transition(state, event).state, state);
      EXPECT_EQ(transition(state, event).event, event);
    }
  }
  EXPECT_EQ(seen.size(), kGroupStates * kGroupEvents);
}

TEST(WorkerGroupTable, SaysWhyWhereItDoesNothing) {
  for (const GroupTransition& row : group_transitions()) {
    const bool acts = row.action != kNothing && row.action != kBug;
    EXPECT_EQ(row.why.empty(), acts) << to_string(row.state) << " + " << to_string(row.event);
  }
}

TEST(WorkerGroupTable, StaysWhereItIsOnABug) {
  for (const GroupTransition& row : group_transitions()) {
    if (row.action == kBug) {
      EXPECT_EQ(row.next, row.state) << to_string(row.event);
    }
  }
}

TEST(WorkerGroupTable, NamesEveryStateEventAndActionDifferently) {
  std::set<std::string_view> names;
  for (const GroupState state : all_states()) names.insert(to_string(state));
  for (const GroupEvent event : all_events()) names.insert(to_string(event));
  std::set<std::string_view> actions;
  for (const GroupTransition& row : group_transitions()) actions.insert(to_string(row.action));
  EXPECT_EQ(names.size(), kGroupStates + kGroupEvents);
  EXPECT_EQ(actions.size(), 9u);
}

TEST(WorkerGroupTable, ReachesEveryStateFromIdle) {
  std::set<GroupState> reached = {kIdle};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const GroupTransition& row : group_transitions()) {
      if (reached.contains(row.state)) reached.insert(row.next);
    }
  }
  EXPECT_EQ(reached.size(), kGroupStates);
}

TEST(WorkerGroupTable, SpawnsOnlyWhenNothingOfTheLastAttemptIsLeft) {
  for (const GroupTransition& row : group_transitions()) {
    if (row.action == kSpawn) {
      EXPECT_TRUE(row.state == kIdle || row.state == kBackoff);
    }
    // Backoff in turn is entered only after the policy was asked, and that after the sweep.
    if (row.next == kBackoff && row.state != kBackoff) {
      EXPECT_EQ(row.state, kDeciding);
    }
    if (row.next == kDeciding && row.state != kDeciding) {
      EXPECT_EQ(row.event, kTreeGone);
    }
  }
}

TEST(WorkerGroupTable, NeverStartsAgainAfterASignal) {
  // From wherever a signal leads, no row may spawn, wait or ask the policy.
  std::set<GroupState> after_signal;
  for (const GroupState state : all_states())
    after_signal.insert(transition(state, kShutdown).next);
  EXPECT_EQ(after_signal, (std::set<GroupState>{kFinalStopping, kFinalSweeping, kFinished}));
  for (const GroupState state : after_signal) {
    for (const GroupEvent event : all_events()) {
      const GroupTransition row = transition(state, event);
      EXPECT_TRUE(after_signal.contains(row.next)) << to_string(state) << " " << to_string(event);
      EXPECT_TRUE(row.action != kSpawn && row.action != kWait && row.action != kDecide);
    }
  }
}

TEST(WorkerGroupLife, SucceedsWithoutPolicyOrTimer) {
  live(kIdle, {{kStart, kStarting, kSpawn},
               {kAllStarted, kRunning, kNothing},
               {kWorkerSucceeded, kRunning, kNothing},
               {kAllSucceeded, kFinalStopping, kEndRest},
               {kTreeGone, kFinished, kFinish}});
}

TEST(WorkerGroupLife, WhatIsLeftOfWorkersHasItsTimeAndNoMore) {
  for (const auto& [state, next] :
       {std::pair(kStopping, kSweeping), std::pair(kFinalStopping, kFinalSweeping)}) {
    live(state, {{kWorkersGone, state, kEndRest}, {kGraceOver, next, kSweep}});
  }
}

TEST(WorkerGroupLife, RestartsAfterAFailureUntilThePolicyRefuses) {
  live(kIdle, {{kStart, kStarting, kSpawn},
               {kAllStarted, kRunning, kNothing},
               {kWorkerFailed, kStopping, kTerminate},
               {kGraceOver, kSweeping, kSweep},
               {kWorkerFailed, kSweeping, kNothing},
               {kWorkersGone, kSweeping, kNothing},
               {kTreeGone, kDeciding, kDecide},
               {kRestartGranted, kBackoff, kWait},
               {kBackoffOver, kStarting, kSpawn},
               {kAllStarted, kRunning, kNothing},
               {kWorkerFailed, kStopping, kTerminate},
               {kWorkersGone, kStopping, kEndRest},
               {kTreeGone, kDeciding, kDecide},
               {kRestartRefused, kFinished, kFinish}});
}

TEST(WorkerGroupLife, DecidesWithoutWaitingWhenAllLeaveWithinGrace) {
  live(kStopping, {{kWorkerSucceeded, kStopping, kNothing},
                   {kWorkerFailed, kStopping, kNothing},
                   {kWorkersGone, kStopping, kEndRest},
                   {kTreeGone, kDeciding, kDecide}});
}

TEST(WorkerGroupLife, FailureOfAnotherWorkerWhileStoppingChangesNothing) {
  live(kStopping, {{kWorkerFailed, kStopping, kNothing}, {kWorkerFailed, kStopping, kNothing}});
}

TEST(WorkerGroupLife, FailureDuringStartStopsTheSpawning) {
  live(kStarting, {{kWorkerFailed, kStopping, kTerminate},
                   {kWorkersGone, kStopping, kEndRest},
                   {kTreeGone, kDeciding, kDecide}});
}

TEST(WorkerGroupLife, EarlySuccessDuringStartIsNoReasonToStop) {
  live(kStarting, {{kWorkerSucceeded, kStarting, kNothing}, {kAllStarted, kRunning, kNothing}});
}

TEST(WorkerGroupLife, StartFailureStopsWhatWasStartedAndAsksThePolicy) {
  live(kIdle, {{kStart, kStarting, kSpawn},
               {kStartFailed, kStopping, kTerminate},
               {kWorkersGone, kStopping, kEndRest},
               {kTreeGone, kDeciding, kDecide},
               {kRestartRefused, kFinished, kFinish}});
}

TEST(WorkerGroupLife, SignalDuringStartIsNotLost) {
  live(kIdle, {{kStart, kStarting, kSpawn},
               {kShutdown, kFinalStopping, kTerminate},
               {kWorkerFailed, kFinalStopping, kNothing},
               {kWorkersGone, kFinalStopping, kEndRest},
               {kTreeGone, kFinished, kFinish}});
}

TEST(WorkerGroupLife, SignalBeforeTheFirstAttemptEndsAtOnce) {
  live(kIdle, {{kShutdown, kFinished, kFinish}});
}

TEST(WorkerGroupLife, SecondSignalCutsTheGraceShortAndTheThirdChangesNothing) {
  live(kRunning, {{kShutdown, kFinalStopping, kTerminate},
                  {kShutdown, kFinalSweeping, kSweep},
                  {kShutdown, kFinalSweeping, kNothing},
                  {kWorkersGone, kFinalSweeping, kNothing},
                  {kTreeGone, kFinished, kFinish}});
}

TEST(WorkerGroupLife, FirstSignalAfterAFailureKeepsTheGraceButForbidsARestart) {
  live(kStopping, {{kShutdown, kFinalStopping, kNothing},
                   {kShutdown, kFinalSweeping, kSweep},
                   {kTreeGone, kFinished, kFinish}});
  live(kSweeping, {{kShutdown, kFinalSweeping, kNothing}, {kTreeGone, kFinished, kFinish}});
}

TEST(WorkerGroupLife, SignalledWorkersThatAllSucceedEndLikeAnyOther) {
  live(kFinalStopping, {{kWorkerSucceeded, kFinalStopping, kNothing},
                        {kAllSucceeded, kFinalStopping, kEndRest},
                        {kTreeGone, kFinished, kFinish}});
}

TEST(WorkerGroupLife, GraceThatEndsAfterASignalLeadsToTheSweep) {
  live(kFinalStopping,
       {{kGraceOver, kFinalSweeping, kSweep}, {kGraceOver, kFinalSweeping, kNothing}});
}

TEST(WorkerGroupLife, ShutdownInBackoffEndsAtOnceAndALateTimerIsIgnored) {
  live(kBackoff, {{kShutdown, kFinished, kFinish},
                  {kBackoffOver, kFinished, kNothing},
                  {kShutdown, kFinished, kNothing}});
}

TEST(WorkerGroupLife, ShutdownWhileThePolicyThinksIgnoresItsAnswer) {
  live(kDeciding, {{kShutdown, kFinished, kFinish},
                   {kRestartGranted, kFinished, kNothing},
                   {kRestartRefused, kFinished, kNothing}});
}

}  // namespace
}  // namespace muster::elastic
