#include "mpi/ranks/mpi_round_table.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace muster::mpi {
namespace {

using enum MpiRoundState;
using enum MpiRoundEvent;
using enum MpiRoundAction;

TEST(MpiRoundTable, EveryPairIsDecidedAndEveryNonActionSaysWhy) {
  EXPECT_EQ(mpi_round_transitions().size(), kMpiRoundStates * kMpiRoundEvents);
  for (const MpiRoundTransition& row : mpi_round_transitions()) {
    EXPECT_EQ(&transition(row.state, row.event), &row);
    const bool idle = row.action == kNothing || row.action == kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
    if (row.action == kBug) {
      EXPECT_EQ(row.next, row.state);
    }
  }
}

// Walks `events` from kIdle; the last state, and that no step was a bug.
MpiRoundState after(std::initializer_list<MpiRoundEvent> events) {
  MpiRoundState state = kIdle;
  for (const MpiRoundEvent event : events) {
    const MpiRoundTransition& row = transition(state, event);
    EXPECT_NE(row.action, kBug) << to_string(state) << " " << to_string(event);
    state = row.next;
  }
  return state;
}

TEST(MpiRoundTable, ALauncherThatSaysZeroSucceedsUnlessAFailureWasTold) {
  EXPECT_EQ(after({kBegin, kEndedWell}), kSucceeded);
  EXPECT_EQ(after({kBegin, kFailure, kEndedWell}), kFailed);
}

TEST(MpiRoundTable, ALauncherThatWasKilledAfterItsRanksSucceeded) {
  EXPECT_EQ(transition(kBegun, kHang).action, kKillLauncher);
  EXPECT_EQ(after({kBegin, kHang, kEndedOtherwise}), kSucceeded);
  EXPECT_EQ(after({kBegin, kEndedOtherwise}), kIdle);
}

TEST(MpiRoundTable, AFailureIsToldOncePerRound) {
  EXPECT_EQ(transition(kBegun, kFailure).action, kTellFailure);
  for (const MpiRoundState state : {kIdle, kFailed, kSucceeded})
    EXPECT_EQ(transition(state, kFailure).action, kNothing) << to_string(state);
  EXPECT_EQ(after({kBegin, kFailure, kFailure, kEndedOtherwise, kBegin}), kBegun);
}

TEST(MpiRoundTable, AnyStateCanBeLeftByTheNextRound) {
  for (const MpiRoundTransition& row : mpi_round_transitions()) {
    if (row.event == kBegin) {
      EXPECT_EQ(row.next, kBegun) << to_string(row.state);
    }
  }
}

TEST(MpiRoundTable, StatesAndEventsHaveNames) {
  std::set<std::string_view> names;
  for (const MpiRoundTransition& row : mpi_round_transitions()) {
    names.insert(to_string(row.state));
    names.insert(to_string(row.event));
  }
  EXPECT_EQ(names.size(), kMpiRoundStates + kMpiRoundEvents);
}

}  // namespace
}  // namespace muster::mpi
