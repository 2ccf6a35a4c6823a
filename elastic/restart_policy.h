// Restart policy: does the budget allow another start, and when? Pure. What is charged to the
// budget, and when a job is in a crash loop, is in round_policy.h.
#pragma once

#include <string>

#include "base/clock.h"

namespace muster::elastic {

inline constexpr Duration kMaxBackoff =
    std::chrono::minutes(5);  ///< Kubernetes' own limit between restarts of a container

struct RestartOptions {
  int max_restarts = 0;                 ///< budget of the whole job, >= 0
  Duration backoff = Duration::zero();  ///< nominal pause before the first restart; 0 = none
};

struct RestartState {
  int used = 0;                   ///< restarts already consumed
  bool would_fail_again = false;  ///< e.g. the program does not exist: same_start_fails()
};

/// `reason` is one line with its numbers: "restart 2 of 3 in 4 s", "restart 1 of 3 at once",
/// "all 3 restarts used", "no restarts allowed (--max-restarts 0)".
struct RestartDecision {
  bool restart = false;
  Duration delay = Duration::zero();
  std::string reason;
};

/// Grants restarts until the budget is used up. The nominal pause doubles with every restart that
/// was used, up to kMaxBackoff (or `backoff` itself, if that is longer). `jitter` in [0, 1) comes
/// from the caller and spreads the delay over [0.5, 1) of its nominal value, so that the nodes of
/// many jobs do not come back together. The caller counts `used`.
[[nodiscard]] RestartDecision decide_restart(const RestartState& state,
                                             const RestartOptions& options, double jitter);

}  // namespace muster::elastic
