// How far rounds get, why they and the job end. Part of the inside of Leader.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "rendezvous/agreement/failure_list.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::rendezvous {

/// Of a pause before a restart that another leader decided: longer than policies wait by default,
/// and no peer can hold up a job for longer.
inline constexpr Duration kMaxReportedPause = std::chrono::hours(1);

/// Of records, with at most 12 KiB of text each, that the leader keeps.
inline constexpr size_t kMaxFailuresOfRound = 16384;

/// Why the round ends; the first cause stands, except that a lost, leaving or unfit node, or
/// somebody who asked for a restart, explains failures.
enum class BreakCause { kNone, kFailure, kLost, kPreempted, kResized, kUnfit, kAsked };
/// "failure", "lost", ...; "" = kNone. Labels of metrics.
[[nodiscard]] std::string_view to_string(BreakCause cause);
/// Failures of such a round follow from what ended it.
[[nodiscard]] constexpr bool explains_failures(BreakCause cause) {
  return cause == BreakCause::kLost || cause == BreakCause::kPreempted ||
         cause == BreakCause::kUnfit || cause == BreakCause::kAsked;
}

/// The furthest step that a round is known to have made. Another round begins anew, where its
/// checkpoint was.
struct RoundStep {
  uint64_t round = 0;
  int64_t step = -1;
  bool told = false;  ///< that this round made one

  /// False: no more than was known, so that nothing has happened since.
  bool reach(uint64_t of_round, int64_t reached) {
    const int64_t known = of_round == round ? step : -1;
    if (reached <= known) return false;
    told = told && of_round == round;
    round = of_round;
    step = reached;
    return true;
  }
  /// True once for each round that made a step.
  bool tell(uint64_t of_round) {
    return round == of_round && step >= 0 && !std::exchange(told, true);
  }
};

/// How the round ends, and what follows from it.
struct RoundEnding {
  BreakCause cause = BreakCause::kNone;
  std::string text;                           ///< why, for the log and the agents
  TimePoint fault;                            ///< when it happened; at most `known`
  TimePoint known;                            ///< when this leader knew
  std::optional<TimePoint> leaving_since;     ///< the first of the leavers said so
  std::optional<std::string> stop_asked;      ///< the job is to end, and who wants it
  FailureList failures{kMaxFailuresOfRound};  ///< of this or the last round, not judged
  uint64_t settled_round = 0;           ///< whose failures were judged; later reports are cascades
  Duration leave_grace{};               ///< to stop workers in, of the node that leaves
  int leavers = 0;                      ///< nodes of the round that were told to go, gone or not
  bool all_leave = false;               ///< no other is left of it, as was told with Stop
  bool growing = false;                 ///< the round was stopped to grow
  bool names_unmet = false;             ///< `text` is of a node that was lost with a former leader
  std::optional<JobDecision> decision;  ///< of the round that runs, or ran last
  std::map<int, MayRestart> lone;       ///< of that round, by node rank: the last answer to each
};

using JobEnd = Finish;  ///< what every node is told
/// As it is sent at `now`, which may be long after the first failure.
[[nodiscard]] inline JobEnd aged(TimePoint now, JobEnd end) {
  if (end.first) end.first = aged(now, std::move(*end.first));
  return end;
}

}  // namespace muster::rendezvous
