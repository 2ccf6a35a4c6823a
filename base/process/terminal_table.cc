#include "base/process/terminal_table.h"

#include <array>

#include "base/check.h"

namespace muster {

namespace {

using enum TerminalState;
using enum TerminalEvent;
using enum TerminalAction;

constexpr std::string_view kOneRuns = "one program at a time";
constexpr std::string_view kNoneRuns = "no program runs";
constexpr std::string_view kShells = "the terminal is the outer shell's";

// clang-format off: a row is a line.
struct Life : LifeCycle<TerminalState, TerminalEvent, TerminalAction> {
  static constexpr std::array kTable{
      note(kIdle, kStartInFront, kFront,
           "it takes the foreground itself, before its first instruction"),
      note(kIdle, kStartBehind, kBehind, kShells),
      bug(kIdle, kWantsTerminal, kNoneRuns),
      bug(kIdle, kStopped, kNoneRuns),
      bug(kIdle, kStoppedAlone, kNoneRuns),
      ignore(kIdle, kSuspended, kNoneRuns),
      ignore(kIdle, kContinuedInFront, kNoneRuns),
      ignore(kIdle, kContinuedBehind, kNoneRuns),
      ignore(kIdle, kEnded, kNoneRuns),

      bug(kFront, kStartInFront, kOneRuns),
      bug(kFront, kStartBehind, kOneRuns),
      go(kFront, kWantsTerminal, kFront, kGiveAndWake),
      go(kFront, kStopped, kBehind, kStopOurs),
      go(kFront, kStoppedAlone, kFront, kGiveAndWake),
      go(kFront, kSuspended, kBehind, kTakeBack),
      go(kFront, kContinuedInFront, kFront, kGive),
      ignore(kFront, kContinuedBehind, "the program has the foreground, or a job of it"),
      go(kFront, kEnded, kIdle, kTakeBack),

      bug(kBehind, kStartInFront, kOneRuns),
      bug(kBehind, kStartBehind, kOneRuns),
      // A shell's `fg` says nothing to a job that runs.
      go(kBehind, kWantsTerminal, kFront, kGiveAndWake),
      go(kBehind, kStopped, kBehind, kStopOurs),
      go(kBehind, kStoppedAlone, kFront, kGiveAndWake),
      ignore(kBehind, kSuspended, kShells),
      go(kBehind, kContinuedInFront, kFront, kGive),
      ignore(kBehind, kContinuedBehind, kShells),
      note(kBehind, kEnded, kIdle, kShells),
  };
};
// clang-format on
static_assert(Life::is_complete(Life::kTable, kBehind, kEnded),
              "not all pairs, by state, then event");

}  // namespace

std::string_view to_string(TerminalState state) {
  switch (state) {
    case kIdle:
      return "Idle";
    case kFront:
      return "Front";
    case kBehind:
      return "Behind";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(TerminalEvent event) {
  switch (event) {
    case kStartInFront:
      return "StartInFront";
    case kStartBehind:
      return "StartBehind";
    case kWantsTerminal:
      return "WantsTerminal";
    case kStopped:
      return "Stopped";
    case kStoppedAlone:
      return "StoppedAlone";
    case kSuspended:
      return "Suspended";
    case kContinuedInFront:
      return "ContinuedInFront";
    case kContinuedBehind:
      return "ContinuedBehind";
    case kEnded:
      return "Ended";
  }
  MUSTER_CHECK(false);
}

std::string_view to_string(TerminalAction action) {
  switch (action) {
    case kNothing:
      return "Nothing";
    case kGive:
      return "Give";
    case kGiveAndWake:
      return "GiveAndWake";
    case kTakeBack:
      return "TakeBack";
    case kStopOurs:
      return "StopOurs";
    case kBug:
      return "Bug";
  }
  MUSTER_CHECK(false);
}

std::span<const TerminalTransition> terminal_transitions() { return Life::kTable; }

const TerminalTransition& transition(TerminalState state, TerminalEvent event) {
  return Life::find(Life::kTable, state, event);
}

}  // namespace muster
