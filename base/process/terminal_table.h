// The life of a program at a terminal (terminal.h), as one table. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster {

enum class TerminalState {
  kIdle,    ///< no program
  kFront,   ///< the program has the foreground
  kBehind,  ///< it has not: it runs in the background of an outer shell, or is stopped
};
inline constexpr size_t kTerminalStates = static_cast<size_t>(TerminalState::kBehind) + 1;

enum class TerminalEvent {
  kStartInFront,      ///< a program starts, and our group had the foreground
  kStartBehind,       ///< a program starts, and it had not
  kWantsTerminal,     ///< it was stopped because it needs the foreground, which our group has
  kStopped,           ///< it was stopped otherwise
  kStoppedAlone,      ///< it was stopped, and nobody could continue us
  kSuspended,         ///< we are to stop ourselves, and it is stopped with us
  kContinuedInFront,  ///< SIGCONT, and our group has the foreground
  kContinuedBehind,   ///< SIGCONT otherwise
  kEnded,             ///< it ended, or could not be started
};
inline constexpr size_t kTerminalEvents = static_cast<size_t>(TerminalEvent::kEnded) + 1;

enum class TerminalAction {
  kNothing,
  kGive,         ///< the foreground to the program
  kGiveAndWake,  ///< the same, and SIGCONT to it
  kTakeBack,     ///< the foreground to our group
  kStopOurs,     ///< the same, and SIGTSTP to our group, us included
  kBug,          ///< this pair cannot happen
};

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(TerminalState state);
[[nodiscard]] std::string_view to_string(TerminalEvent event);
[[nodiscard]] std::string_view to_string(TerminalAction action);

using TerminalTransition = Transition<TerminalState, TerminalEvent, TerminalAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const TerminalTransition> terminal_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const TerminalTransition& transition(TerminalState state, TerminalEvent event);

}  // namespace muster
