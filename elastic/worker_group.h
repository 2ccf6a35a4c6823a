// WorkerGroup: the life of this node's workers through all attempts, as one table. Pure: it is told
// what happened and says what to do; launcher/agent/agent does it. Nothing here knows why a worker
// failed (failure.h) or whether another attempt is allowed (restart_policy.h).
//
// Two lines of states lead to the end: Stopping and Sweeping when a worker failed, so that another
// attempt may follow; FinalStopping and FinalSweeping when the job is to end whatever the policy
// says. A signal moves the group from the first line to the second, so it is never lost. What the
// rank processes leave behind has its time to end, too: a group is stopping until nothing is left.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::elastic {

/// In the order of life.
enum class GroupState {
  kIdle,           ///< no attempt yet
  kStarting,       ///< spawning
  kRunning,        ///< all workers were started; some may have finished with success
  kStopping,       ///< one failed: SIGTERM was sent to what is left, grace runs
  kSweeping,       ///< one failed: SIGKILL to everything that is left, waiting for the last reap
  kDeciding,       ///< everything gone, the restart policy was asked
  kBackoff,        ///< another attempt was granted, its pause runs
  kFinalStopping,  ///< the job ends: the stop signal was sent to what is left, grace runs
  kFinalSweeping,  ///< the job ends: SIGKILL to everything that is left
  kFinished,       ///< the last attempt is over and nothing is left
};
inline constexpr size_t kGroupStates = static_cast<size_t>(GroupState::kFinished) + 1;

/// After each reaped rank process the agent tells kWorkerSucceeded, kAllSucceeded or kWorkerFailed;
/// then kWorkersGone when it was the last one of a group that did not succeed as a whole.
enum class GroupEvent {
  kStart,            ///< begin the first attempt
  kAllStarted,       ///< every worker was spawned
  kStartFailed,      ///< one could not be spawned; no more will be
  kWorkerSucceeded,  ///< one exited 0, and it was not the last of an all-successful group
  kAllSucceeded,     ///< the last one exited 0, and so had all others of this attempt
  kWorkerFailed,     ///< one ended otherwise
  kShutdown,         ///< the job is to end (signal, or the leader's word); each one counts
  kInterrupted,      ///< somebody wants another attempt
  kWorkersGone,      ///< no rank process is left and none will be spawned, but not all succeeded
  kGraceOver,        ///< the grace period ended
  kTreeGone,         ///< no descendant is left; told only after kEndRest and kSweep, once
  kRestartGranted,   ///< policy: try again, at once or after a pause
  kRestartRefused,   ///< policy: it is over
  kBackoffOver,      ///< the pause ended (one of zero length too)
};
inline constexpr size_t kGroupEvents = static_cast<size_t>(GroupEvent::kBackoffOver) + 1;

enum class GroupAction {
  kNothing,
  kSpawn,      ///< start all workers of the next attempt
  kTerminate,  ///< stop signal to every rank process, no further spawns, arm the grace timer
  kEndRest,    ///< no rank process is left: stop signal to what they left behind, wait for its end
  kSweep,      ///< cancel the grace timer; SIGKILL to every descendant until none is left
  kDecide,     ///< ask the restart policy
  kWait,       ///< arm the back-off timer
  kFinish,     ///< report and exit
  kBug,        ///< this pair cannot happen
};

/// The enumerator without its "k": "Stopping", "WorkerFailed", "Terminate".
[[nodiscard]] std::string_view to_string(GroupState state);
[[nodiscard]] std::string_view to_string(GroupEvent event);
[[nodiscard]] std::string_view to_string(GroupAction action);

using GroupTransition = Transition<GroupState, GroupEvent, GroupAction>;

/// The whole table: every pair once, by state, then event.
[[nodiscard]] std::span<const GroupTransition> group_transitions();

/// The row of one pair. O(1).
[[nodiscard]] const GroupTransition& transition(GroupState state, GroupEvent event);

}  // namespace muster::elastic
