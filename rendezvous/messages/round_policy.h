// RoundPolicy: what the leader asks whoever decides about restarts and scaling, and what such
// decisions remember. The rules are in elastic/round_policy.h; tests put fakes here.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"

namespace muster::rendezvous {

inline constexpr size_t kMaxTextBytes =
    4096;  ///< of a reason, and of a record's last lines together
inline constexpr size_t kMaxPathBytes = 1024;   ///< of a folder, in messages
inline constexpr size_t kMaxRestartAges = 256;  ///< restarts that a window can tell apart

/// A worker's failure as it travels: elastic's FailureRecord without what only its node needs.
struct Failure {
  int rank = 0;  ///< -1 = no rank but what starts them: the reason names it
  int local_rank = 0;
  std::string node;
  int64_t pid = 0;
  int exit_code = 0;
  int signal = 0;             ///< 0 = it exited
  std::string failure_class;  ///< words of elastic::to_string(FailureClass)
  std::string reason;
  std::string message;     ///< of its error file
  std::string last_lines;  ///< joined by '\n'
  std::string logs;        ///< folder of its log files on that node; "" = it has none
  int64_t age_ms = 0;      ///< since it happened, when the message was sent; clocks may differ
  int64_t alive_ms = 0;
  int attempt = 0;
  bool would_fail_again = false;  ///< the same start fails again on that node
  bool told_to_stop = false;      ///< before it ended
  bool presumed = false;          ///< nobody saw how it ended
  /// No worker failed, but this node of the round is not fit for it: its node rank. Of the others
  /// only `reason` and the age count then.
  std::optional<int> unfit_node = {};
  TimePoint happened;  ///< receiver's clock, from age_ms; not on the wire
};

/// As it is sent at `now`, a time of the clock of `happened`.
[[nodiscard]] inline Failure aged(TimePoint now, Failure failure) {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - failure.happened);
  failure.age_ms = std::max<int64_t>(age.count(), 0);
  return failure;
}

/// "rank 3 on worker-1", "the launcher on worker-0".
[[nodiscard]] inline std::string who_failed(const Failure& failure) {
  const std::string who =
      failure.rank < 0 ? "the launcher" : "rank " + std::to_string(failure.rank);
  return who + " on " + failure.node;
}

/// What must survive the loss of a leader: every agent carries the newest copy. Ages, not times:
/// clocks of two nodes have nothing in common.
struct BudgetState {
  int restarts_used = 0;     ///< charged to the budget, refunds taken off
  int restarts_charged = 0;  ///< ever charged; orders two copies: the higher one is newer
  std::vector<int64_t> restart_ages_ms;  ///< inside the window, newest first; empty without window
  std::string last_failure;              ///< fingerprint of the last failure
  int same_failures = 0;                 ///< in a row, without progress between
  int64_t best_step = -1;                ///< furthest progress seen
  bool given_back = false;               ///< the last restart, for progress: none is twice
  uint64_t judged_round = 0;             ///< whose failures are in these numbers
  int64_t pause_ms = 0;                  ///< left of the pause before the round after it
  int nodes_lost = 0;                    ///< of rounds that others followed: who was gone by then
  int nodes_joined = 0;  ///< of rounds after the first: who was not in the one before
  friend bool operator==(const BudgetState&, const BudgetState&) = default;
};

struct RestartVerdict {
  bool restart = false;
  Duration delay = Duration::zero();
  size_t first = 0;  ///< index of the failure that explains the others
  std::string reason;
};
/// `at` none = not at all as things are.
struct GrowVerdict {
  bool now = false;
  std::optional<TimePoint> at;
  std::string reason;
};

class RoundPolicy {
 public:
  virtual ~RoundPolicy() = default;
  /// Failures of one round, never empty; charges the budget if it grants.
  virtual RestartVerdict after_failures(TimePoint now, std::span<const Failure> failures) = 0;
  /// A worker failed that may start again alone: the same budget. Others may fail alike without
  /// being the same failure again, so it is no step to a crash loop.
  virtual RestartVerdict after_lone_failure(TimePoint now) = 0;
  /// May a running round be stopped to grow?
  [[nodiscard]] virtual GrowVerdict may_grow(TimePoint now) const = 0;
  /// A lost node of a round that could go on smaller: until when is a successor awaited?
  [[nodiscard]] virtual TimePoint replace_until(TimePoint lost_at) const = 0;
  /// Restarts that count against the budget.
  [[nodiscard]] virtual int used(TimePoint now) const = 0;
  virtual void round_started(TimePoint now, bool grew) = 0;
  virtual void progressed(TimePoint now, int64_t step) = 0;
  /// Without what only the leader knows: judged_round, pause_ms and the numbers of nodes.
  [[nodiscard]] virtual BudgetState budget(TimePoint now) const = 0;
  /// Takes over the copy an agent reported, if it is newer than what is known.
  virtual void restore(TimePoint now, const BudgetState& state) = 0;
};

}  // namespace muster::rendezvous
