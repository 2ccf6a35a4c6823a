// Why rounds and the job end. Part of the inside of Leader; included by leader_core.h alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rendezvous/leader_messages.h"

namespace muster::rendezvous {

/// Of a pause before a restart that another leader decided: longer than policies wait by default,
/// and no peer can hold up a job for longer.
inline constexpr Duration kMaxReportedPause = std::chrono::hours(1);

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
  bool names_unmet = false;       ///< `text` is of a node that was lost with a former leader
};

using JobEnd = Finish;  ///< what every node is told
/// As it is sent at `now`, which may be long after the first failure.
[[nodiscard]] inline JobEnd aged(TimePoint now, JobEnd end) {
  if (end.first) end.first = aged(now, std::move(*end.first));
  return end;
}

}  // namespace muster::rendezvous
