#include "rendezvous/leader/leader_table.h"

#include <array>

#include "base/check.h"

namespace muster::rendezvous {

namespace {

using enum LeaderState;
using enum LeaderEvent;
using enum LeaderAction;

constexpr std::string_view kNoRound = "no round is under way";
constexpr std::string_view kInRound = "membership is not asked while a round is under way";
constexpr std::string_view kNotStopping = "nothing was told to stop";
constexpr std::string_view kNotRunning = "not all nodes started their workers";
constexpr std::string_view kStartedOnce = "it was told already";
constexpr std::string_view kOver = "the job is over";

// clang-format off: a row is a line.
struct Life : LifeCycle<LeaderState, LeaderEvent, LeaderAction> {
  static constexpr std::array kTable{
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
      bug(kAssigned, kGiveUp, kInRound),

      bug(kRunning, kEnough, kInRound),
      bug(kRunning, kNotEnough, kInRound),
      bug(kRunning, kRoundFormed, kInRound),
      bug(kRunning, kAllStarted, kStartedOnce),
      go(kRunning, kRoundBroken, kStopping, kStop),
      bug(kRunning, kAllStopped, kNotStopping),
      go(kRunning, kAllSucceeded, kFinished, kFinish),
      bug(kRunning, kGiveUp, kInRound),

      bug(kStopping, kEnough, kInRound),
      bug(kStopping, kNotEnough, kInRound),
      bug(kStopping, kRoundFormed, kInRound),
      ignore(kStopping, kAllStarted, "it is being stopped all the same"),
      ignore(kStopping, kRoundBroken, "it is being stopped already"),
      go(kStopping, kAllStopped, kGathering, kGather),
      go(kStopping, kAllSucceeded, kFinished, kFinish),
      bug(kStopping, kGiveUp, kInRound),

      bug(kFinished, kEnough, kOver),
      bug(kFinished, kNotEnough, kOver),
      bug(kFinished, kRoundFormed, kOver),
      bug(kFinished, kAllStarted, kOver),
      ignore(kFinished, kRoundBroken, kOver),
      bug(kFinished, kAllStopped, kOver),
      bug(kFinished, kAllSucceeded, kOver),
      bug(kFinished, kGiveUp, kOver),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kFinished, kGiveUp),
              "not all pairs, by state, then event");

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

std::span<const LeaderTransition> leader_transitions() { return Life::kTable; }

const LeaderTransition& transition(LeaderState state, LeaderEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster::rendezvous
