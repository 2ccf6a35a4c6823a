// HealthChecks: what the nodes of a round look at before its workers start. The leader's word
// counts, and goes out with each assignment. Plain values.
#pragma once

#include <chrono>

#include "base/clock.h"

namespace muster::rendezvous {

enum class HealthChecks {
  kOff,
  kLocal,  ///< each node itself
  kPairs,  ///< and the way to two others
};

/// How long a node that is not fit stays out of rounds, at least and at most.
inline constexpr Duration kMinCooldown = std::chrono::seconds(1);
inline constexpr Duration kMaxCooldown = std::chrono::hours(1);

}  // namespace muster::rendezvous
