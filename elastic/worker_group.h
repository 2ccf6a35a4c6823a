// WorkerGroup: the life of this node's workers through all attempts, as one table. Pure: it is told
// what happened and says what to do; launcher/agent does it.
#pragma once

#include <string_view>

namespace muster::elastic {

/// In the order of life.
enum class GroupState {
  kIdle,      ///< no attempt yet
  kStarting,  ///< spawning
  kRunning,   ///< all workers were started; some may have finished with success
  kStopping,  ///< SIGTERM was sent, grace runs
  kSweeping,  ///< SIGKILL to everything that is left, waiting for the last reap
  kBackoff,   ///< everything gone, waiting before the next attempt
  kFinished,  ///< the last attempt is over and nothing is left
};

enum class GroupEvent {
  kStart,            ///< begin the first attempt
  kAllStarted,       ///< every worker was spawned
  kStartFailed,      ///< one could not be spawned
  kWorkerSucceeded,  ///< one exited 0, others still run
  kAllSucceeded,     ///< the last one exited 0
  kWorkerFailed,     ///< one ended otherwise
  kShutdown,         ///< the job is to end (signal, or the leader's word)
  kWorkersGone,      ///< no rank process is left
  kGraceOver,        ///< the grace period ended
  kTreeGone,         ///< no descendant is left
  kRestartGranted,   ///< policy: try again, at once or after a pause (the agent arms the timer)
  kRestartRefused,   ///< policy: it is over
  kBackoffOver,      ///< the pause ended
};

enum class GroupAction {
  kNothing,
  kSpawn,      ///< start all workers of the next attempt
  kTerminate,  ///< SIGTERM to every rank process, arm the grace timer
  kSweep,      ///< SIGKILL to every descendant until none is left
  kDecide,     ///< ask the restart policy
  kWait,       ///< arm the back-off timer
  kFinish,     ///< report and exit
  kBug,        ///< this pair cannot happen
};

[[nodiscard]] std::string_view to_string(GroupState state);
[[nodiscard]] std::string_view to_string(GroupEvent event);
[[nodiscard]] std::string_view to_string(GroupAction action);

/// One row of the table.
struct GroupTransition {
  GroupState next;
  GroupAction action;
  std::string_view why;  ///< for rows that ignore or cannot happen
};

/// The table. Every pair is present.
[[nodiscard]] GroupTransition transition(GroupState state, GroupEvent event);

}  // namespace muster::elastic
