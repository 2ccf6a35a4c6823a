// The life of the leader as one table. Pure; driven by leader.h.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/life_cycle.h"

namespace muster::rendezvous {

/// In the order of life.
enum class LeaderState {
  kGathering,  ///< no round; nodes join
  kLastCall,   ///< enough for a round, more are awaited
  kAssigned,   ///< ranks are out, workers start
  kRunning,    ///< all nodes of the round started their workers
  kStopping,   ///< the round ends: workers are being stopped on every node
  kFinished,   ///< the job is over; nothing follows
};
inline constexpr size_t kLeaderStates = static_cast<size_t>(LeaderState::kFinished) + 1;

enum class LeaderEvent {
  kEnough,        ///< an allowed size is there, time is left for more
  kNotEnough,     ///< ... and is not any more
  kRoundFormed,   ///< membership decided
  kAllStarted,    ///< every node of the round reported its workers
  kRoundBroken,   ///< a worker failed, a node was lost or leaves, or the size is to change
  kAllStopped,    ///< nothing of the round is alive
  kAllSucceeded,  ///< every node of the round succeeded
  kGiveUp,        ///< no further round: budget, join timeout, all had succeeded
};
inline constexpr size_t kLeaderEvents = static_cast<size_t>(LeaderEvent::kGiveUp) + 1;

enum class LeaderAction {
  kNothing,
  kAssign,  ///< send every node its ranks
  kRun,     ///< note that the round runs
  kStop,    ///< stop the workers on every node of the round
  kGather,  ///< look who is there for the next round
  kFinish,  ///< tell every node the outcome
  kBug,     ///< this pair cannot happen
};

[[nodiscard]] std::string_view to_string(LeaderState state);
[[nodiscard]] std::string_view to_string(LeaderEvent event);
[[nodiscard]] std::string_view to_string(LeaderAction action);

using LeaderTransition = Transition<LeaderState, LeaderEvent, LeaderAction>;
/// Every pair once, by state, then event.
[[nodiscard]] std::span<const LeaderTransition> leader_transitions();
[[nodiscard]] const LeaderTransition& transition(LeaderState state, LeaderEvent event);

}  // namespace muster::rendezvous
