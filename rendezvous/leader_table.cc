#include "rendezvous/leader_table.h"

#include <array>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

using enum LeaderState;
using enum LeaderEvent;
using enum LeaderAction;

constexpr LeaderTransition go(LeaderState state, LeaderEvent event, LeaderState next,
                              LeaderAction action) {
  return {state, event, next, action, ""};
}

// The state changes, but there is nothing to do.
constexpr LeaderTransition note(LeaderState state, LeaderEvent event, LeaderState next,
                                std::string_view why) {
  return {state, event, next, kNothing, why};
}

constexpr LeaderTransition ignore(LeaderState state, LeaderEvent event, std::string_view why) {
  return {state, event, state, kNothing, why};
}

constexpr LeaderTransition bug(LeaderState state, LeaderEvent event, std::string_view why) {
  return {state, event, state, kBug, why};
}

constexpr std::string_view kNoRound = "no round is under way";
constexpr std::string_view kInRound = "membership is not asked while a round is under way";
constexpr std::string_view kNotStopping = "nothing was told to stop";
constexpr std::string_view kNotRunning = "not all nodes started their workers";
constexpr std::string_view kStartedOnce = "it was told already";
constexpr std::string_view kOver = "the job is over";

// clang-format off: a row is a line.
constexpr std::array kTable{
    note(kGathering, kEnough, kLastCall, "more nodes may come"),
    ignore(kGathering, kNotEnough, "as before"),
    go(kGathering, kRoundFormed, kAssigned, kAssign),
    bug(kGathering, kAllStarted, kNoRound),
    ignore(kGathering, kRoundBroken, kNoRound),
    bug(kGathering, kAllStopped, kNoRound),
    bug(kGathering, kAllSucceeded, kNoRound),
    go(kGathering, kGiveUp, kFinished, kFinish),

    ignore(kLastCall, kEnough, "as before"),
    note(kLastCall, kNotEnough, kGathering, "somebody went"),
    go(kLastCall, kRoundFormed, kAssigned, kAssign),
    bug(kLastCall, kAllStarted, kNoRound),
    ignore(kLastCall, kRoundBroken, kNoRound),
    bug(kLastCall, kAllStopped, kNoRound),
    bug(kLastCall, kAllSucceeded, kNoRound),
    go(kLastCall, kGiveUp, kFinished, kFinish),

    bug(kAssigned, kEnough, kInRound),
    bug(kAssigned, kNotEnough, kInRound),
    bug(kAssigned, kRoundFormed, kInRound),
    go(kAssigned, kAllStarted, kRunning, kRun),
    go(kAssigned, kRoundBroken, kStopping, kStop),
    bug(kAssigned, kAllStopped, kNotStopping),
    bug(kAssigned, kAllSucceeded, kNotRunning),
    go(kAssigned, kGiveUp, kStopping, kStop),

    bug(kRunning, kEnough, kInRound),
    bug(kRunning, kNotEnough, kInRound),
    bug(kRunning, kRoundFormed, kInRound),
    bug(kRunning, kAllStarted, kStartedOnce),
    go(kRunning, kRoundBroken, kStopping, kStop),
    bug(kRunning, kAllStopped, kNotStopping),
    go(kRunning, kAllSucceeded, kFinished, kFinish),
    go(kRunning, kGiveUp, kStopping, kStop),

    bug(kStopping, kEnough, kInRound),
    bug(kStopping, kNotEnough, kInRound),
    bug(kStopping, kRoundFormed, kInRound),
    ignore(kStopping, kAllStarted, "it is being stopped all the same"),
    ignore(kStopping, kRoundBroken, "it is being stopped already"),
    go(kStopping, kAllStopped, kGathering, kGather),
    go(kStopping, kAllSucceeded, kFinished, kFinish),
    ignore(kStopping, kGiveUp, "the end waits until the round has stopped"),

    bug(kFinished, kEnough, kOver),
    bug(kFinished, kNotEnough, kOver),
    bug(kFinished, kRoundFormed, kOver),
    bug(kFinished, kAllStarted, kOver),
    ignore(kFinished, kRoundBroken, kOver),
    bug(kFinished, kAllStopped, kOver),
    bug(kFinished, kAllSucceeded, kOver),
    ignore(kFinished, kGiveUp, kOver),
};
// clang-format on

constexpr size_t row_of(LeaderState state, LeaderEvent event) {
  return static_cast<size_t>(state) * kLeaderEvents + static_cast<size_t>(event);
}

constexpr bool every_pair_is_in_its_place() {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (row_of(kTable[i].state, kTable[i].event) != i) return false;
  }
  return true;
}
static_assert(static_cast<size_t>(kFinished) + 1 == kLeaderStates);
static_assert(static_cast<size_t>(kGiveUp) + 1 == kLeaderEvents);
static_assert(kTable.size() == kLeaderStates * kLeaderEvents, "a pair is missing or there twice");
static_assert(every_pair_is_in_its_place(), "rows must be sorted by state, then event");

}  // namespace

std::string_view to_string(LeaderState state) {
  switch (state) {
    case kGathering:
      return "Gathering";
    case kLastCall:
      return "LastCall";
    case kAssigned:
      return "Assigned";
    case kRunning:
      return "Running";
    case kStopping:
      return "Stopping";
    case kFinished:
      return "Finished";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(LeaderEvent event) {
  switch (event) {
    case kEnough:
      return "Enough";
    case kNotEnough:
      return "NotEnough";
    case kRoundFormed:
      return "RoundFormed";
    case kAllStarted:
      return "AllStarted";
    case kRoundBroken:
      return "RoundBroken";
    case kAllStopped:
      return "AllStopped";
    case kAllSucceeded:
      return "AllSucceeded";
    case kGiveUp:
      return "GiveUp";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(LeaderAction action) {
  switch (action) {
    case kNothing:
      return "Nothing";
    case kAssign:
      return "Assign";
    case kRun:
      return "Run";
    case kStop:
      return "Stop";
    case kGather:
      return "Gather";
    case kFinish:
      return "Finish";
    case kBug:
      return "Bug";
  }
  MUSTER_CHECK(false);
}

std::span<const LeaderTransition> leader_transitions() { return kTable; }

const LeaderTransition& transition(LeaderState state, LeaderEvent event) {
  return kTable[row_of(state, event)];
}

}  // namespace muster::rendezvous
