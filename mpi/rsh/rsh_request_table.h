// The life of one command that an agent runs for `muster rsh`, as one table. Pure: it is told what
// happened and says what to do; rsh_request.h does it.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::mpi {

/// In the order of life. "Alone": the caller is gone, nobody hears how it ends.
enum class RshState {
  kIdle,           ///< connected, no command yet
  kRunning,        ///< the command runs
  kSweeping,       ///< it ended: SIGKILL to whatever it left
  kReporting,      ///< nothing is left; the rest of its output, then its exit code (or why it
                   ///< never ran) leave
  kStoppingAlone,  ///< the caller went: SIGTERM was sent, grace runs
  kSweepingAlone,  ///< SIGKILL to everything of it
  kEnded,
};
inline constexpr size_t kRshStates = static_cast<size_t>(RshState::kEnded) + 1;

enum class RshEvent {
  kRun,           ///< a command, acceptable in itself
  kNotStarted,    ///< it could not be started
  kProcessEnded,  ///< the command's process ended (and its daemon, where it asked for one)
  kCallerGone,    ///< the connection is lost: that is the order to kill
  kKill,          ///< the agent wants it gone now
  kGraceOver,     ///< after SIGTERM
  kTreeGone,      ///< no process of it is left
  kReported,      ///< the caller has everything
};
inline constexpr size_t kRshEvents = static_cast<size_t>(RshEvent::kReported) + 1;

enum class RshAction {
  kNothing,
  kSpawn,
  kRefuse,     ///< tell why
  kTerminate,  ///< SIGTERM to the command's group, arm the grace timer
  kSweep,      ///< SIGKILL to every process of it, again and again until none is left
  kReport,
  kEnd,  ///< the request can be destroyed
  kBug,  ///< this pair cannot happen
};

/// The enumerator without its "k".
[[nodiscard]] std::string_view to_string(RshState state);
[[nodiscard]] std::string_view to_string(RshEvent event);

using RshTransition = Transition<RshState, RshEvent, RshAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const RshTransition> rsh_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const RshTransition& transition(RshState state, RshEvent event);

}  // namespace muster::mpi
