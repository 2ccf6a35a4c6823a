// What the leader keeps of one node, and of why rounds and the job end. Part of the inside of
// Leader; included by leader_core.h alone.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/electorate.h"
#include "rendezvous/exchange.h"
#include "rendezvous/leader.h"

namespace muster::rendezvous {

/// Of a pause before a restart that another leader decided: longer than policies wait by default,
/// and no peer can hold up a job for longer.
inline constexpr Duration kMaxReportedPause = std::chrono::hours(1);
/// Remembered places of agents: as many as nodes of now and of the last round together.
inline constexpr size_t kMaxPlaces = 2 * static_cast<size_t>(kMaxNodes);

/// What a node's workers are doing in the current round.
enum class NodeProgress {
  kIdle,       ///< none alive; free for a round
  kAssigned,   ///< ranks sent
  kStarted,    ///< workers run
  kSucceeded,  ///< all exited 0
  kEnding,     ///< a worker failed, or they belong to an old round: being stopped
};

/// A round is out: assigned, running or being stopped.
[[nodiscard]] constexpr bool under_way(LeaderState state) {
  return state == LeaderState::kAssigned || state == LeaderState::kRunning ||
         state == LeaderState::kStopping;
}

/// What a Waiting said.
struct Told {
  bool spare = false;
  uint64_t round = 0;
  std::string reason;
};

struct LeaderNode {
  Join join;
  std::optional<LinkId> link;
  TimePoint joined_at;
  TimePoint heard;       ///< last heartbeat, or evidence of life
  TimePoint in_touch;    ///< it followed this leader then: what counts for a quorum
  bool suspect = false;  ///< for the log: told once
  NodeProgress progress = NodeProgress::kIdle;
  int rank = -1;  ///< in the current round; -1 = not in it
  std::optional<NodeIdentity> seat;
  RoundKey accepted;                  ///< newest round it knows of
  std::optional<TimePoint> leave_by;  ///< it was told to go
  std::optional<Told> told;           ///< the last Waiting, so that it is sent when it changes
};

/// Why the round ends; the first cause stands, except that a lost or leaving node explains
/// failures.
enum class BreakCause { kNone, kFailure, kLost, kPreempted, kResized, kEnd };

/// How the round ends, and what follows from it.
struct RoundEnding {
  BreakCause cause = BreakCause::kNone;
  std::string text;               ///< why, for the log and the agents
  std::vector<Failure> failures;  ///< of the current or last round, not yet judged
  uint64_t settled_round = 0;     ///< whose failures were judged; later reports are cascades
  Duration leave_grace{};         ///< to stop workers in, of the node that leaves
  bool growing = false;           ///< the round was stopped to grow
};

using JobEnd = Finish;  ///< what every node is told

}  // namespace muster::rendezvous
