// What many round trips say: the usual one, and the one that is longer than 99 of 100. Pure.
#pragma once

#include <vector>

namespace muster::probe {

struct Latency {
  double p50_us = 0;
  double p99_us = 0;
};

/// The smallest of `values` that is not exceeded by `part` (0 to 1) of them: no values between two
/// are made up. 0 of none.
[[nodiscard]] double percentile(std::vector<double> values, double part);

/// `round_trips_us`: of which one way is half.
[[nodiscard]] Latency latency_of(const std::vector<double>& round_trips_us);

}  // namespace muster::probe
