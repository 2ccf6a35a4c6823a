// Restart policy: may the group be started again, and when? Pure.
#pragma once

#include <string>

#include "base/clock.h"

namespace muster::elastic {

struct RestartOptions {
  int max_restarts = 0;  ///< budget of the whole job
  Duration backoff =
      Duration::zero();  ///< before the first restart; doubles each time up to kMaxBackoff
};

inline constexpr Duration kMaxBackoff = std::chrono::minutes(5);

struct RestartState {
  int used = 0;  ///< restarts already consumed
};

/// `reason` is one line with its numbers: "restart 2 of 3 in 4 s" or "all 3 restarts used".
struct RestartDecision {
  bool restart = false;
  Duration delay = Duration::zero();
  std::string reason;
};

/// `jitter` in [0, 1) comes from the caller and spreads the delay over [0.5, 1) of its nominal
/// value.
[[nodiscard]] RestartDecision decide_restart(const RestartState& state,
                                             const RestartOptions& options, double jitter);

}  // namespace muster::elastic
