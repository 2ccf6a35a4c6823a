// The life of the process above a launcher that the job's command calls, as one table. Pure: it is
// told what happened and says what to do; launcher_runner.h does it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::launcher {

/// In the order of life.
enum class LauncherState {
  kAsking,     ///< the agent is told of the launcher, which waits for that
  kRunning,    ///< with the agent knowing, or without it
  kHanging,    ///< SIGKILL was sent to it, as its ranks had all ended well
  kSweeping,   ///< it hung and is gone: SIGKILL to whatever it left
  kReporting,  ///< the agent is told how it ended
  kFinished,   ///< this process may end, as the launcher did
};
inline constexpr size_t kLauncherStates = static_cast<size_t>(LauncherState::kFinished) + 1;

enum class LauncherEvent {
  kNoted,       ///< the agent has what it was told
  kAgentGone,   ///< it takes no report, or the connection is lost; also of one lost before
  kNotStarted,  ///< the launcher could not be
  kHangs,       ///< the agent says so
  kEnded,       ///< by itself, or by another signal than SIGKILL
  kKilled,      ///< by SIGKILL
  kSwept,       ///< nothing is left of it, or what is left cannot be killed
  kNoAnswer,    ///< the time to be noted is over
};
inline constexpr size_t kLauncherEvents = static_cast<size_t>(LauncherEvent::kNoAnswer) + 1;

enum class LauncherAction {
  kNothing,
  kStartWatched,
  kStartUnwatched,
  kKill,
  kSweep,   ///< SIGKILL to its descendants, again and again; it counts as ended with 0
  kReport,  ///< how it ended
  kFinish,
  kBug,  ///< this pair cannot happen
};

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(LauncherState state);
[[nodiscard]] std::string_view to_string(LauncherEvent event);

using LauncherTransition = Transition<LauncherState, LauncherEvent, LauncherAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const LauncherTransition> launcher_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const LauncherTransition& transition(LauncherState state, LauncherEvent event);

}  // namespace muster::launcher
