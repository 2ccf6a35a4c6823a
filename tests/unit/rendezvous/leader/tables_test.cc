// The tables of leader and member: every pair is there, and what must never change does not.
#include <gtest/gtest.h>

#include <set>

#include "rendezvous/leader/leader_table.h"
#include "rendezvous/member/member_table.h"

namespace muster::rendezvous {
namespace {

TEST(LeaderTable, EveryPairOnceWithAReasonWhereNothingHappens) {
  std::set<std::pair<LeaderState, LeaderEvent>> seen;
  for (const LeaderTransition& row : leader_transitions()) {
    EXPECT_TRUE(seen.emplace(row.state, row.event).second);
    EXPECT_EQ(&transition(row.state, row.event), &row);
    EXPECT_FALSE(to_string(row.state).empty() || to_string(row.event).empty());
    EXPECT_FALSE(to_string(row.action).empty());
    const bool idle = row.action == LeaderAction::kNothing || row.action == LeaderAction::kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
  }
  EXPECT_EQ(seen.size(), kLeaderStates * kLeaderEvents);
}

TEST(LeaderTable, ARoundIsAssignedOnlyWhenNoneIsUnderWay) {
  for (const LeaderTransition& row : leader_transitions()) {
    if (row.action != LeaderAction::kAssign) continue;
    EXPECT_TRUE(row.state == LeaderState::kGathering || row.state == LeaderState::kLastCall);
  }
}

TEST(LeaderTable, WhatRunsIsStoppedBeforeTheNextRoundIsGathered) {
  for (const LeaderTransition& row : leader_transitions()) {
    const bool runs = row.state == LeaderState::kAssigned || row.state == LeaderState::kRunning;
    if (runs) {
      EXPECT_NE(row.next, LeaderState::kGathering);
    }
  }
}

TEST(LeaderTable, NothingFollowsFinished) {
  for (const LeaderTransition& row : leader_transitions()) {
    if (row.state == LeaderState::kFinished) {
      EXPECT_EQ(row.next, LeaderState::kFinished);
    }
  }
}

TEST(MemberTable, EveryPairOnceWithAReasonWhereNothingHappens) {
  std::set<std::pair<MemberState, MemberEvent>> seen;
  for (const MemberTransition& row : member_transitions()) {
    EXPECT_TRUE(seen.emplace(row.state, row.event).second);
    EXPECT_EQ(&transition(row.state, row.event), &row);
    EXPECT_FALSE(to_string(row.state).empty() || to_string(row.event).empty());
    EXPECT_FALSE(to_string(row.action).empty());
    const bool idle = row.action == MemberAction::kNothing || row.action == MemberAction::kBug;
    EXPECT_EQ(row.why.empty(), !idle) << to_string(row.state) << " " << to_string(row.event);
  }
  EXPECT_EQ(seen.size(), kMemberStates * kMemberEvents);
}

bool has_workers(MemberState state) {
  return state == MemberState::kChecking || state == MemberState::kStarting ||
         state == MemberState::kRunning || state == MemberState::kStopping;
}

TEST(MemberTable, AFenceAlwaysKillsWhatMayRun) {
  for (const MemberTransition& row : member_transitions()) {
    if (row.event != MemberEvent::kFenced || !has_workers(row.state)) continue;
    EXPECT_EQ(row.action, MemberAction::kKill);
    EXPECT_EQ(row.next, MemberState::kStopping);
  }
}

TEST(MemberTable, WorkersEndOnlyByBeingGoneOrByTheirSuccess) {
  for (const MemberTransition& row : member_transitions()) {
    if (!has_workers(row.state) || has_workers(row.next)) continue;
    EXPECT_TRUE(row.event == MemberEvent::kGone || row.event == MemberEvent::kSucceeded);
    EXPECT_EQ(row.next, MemberState::kJoining);
  }
}

// The leader's messages come from outside: none of them is a bug of ours in any state.
TEST(MemberTable, NoMessageIsABug) {
  using enum MemberEvent;
  const std::set<MemberEvent> ours = {kPrepared, kStarted, kFailed, kSucceeded, kGone};
  for (const MemberTransition& row : member_transitions()) {
    if (row.action == MemberAction::kBug) {
      EXPECT_TRUE(ours.contains(row.event));
    }
  }
}

}  // namespace
}  // namespace muster::rendezvous
