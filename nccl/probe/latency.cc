#include "nccl/probe/latency.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace muster::probe {

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const double rank = std::ceil(part * static_cast<double>(values.size()));
  const auto index = static_cast<size_t>(std::max(rank, 1.0)) - 1;
  const auto wanted =
      values.begin() + static_cast<std::ptrdiff_t>(std::min(index, values.size() - 1));
  std::nth_element(values.begin(), wanted, values.end());
  return *wanted;
}

Latency latency_of(const std::vector<double>& round_trips_us) {
  return {percentile(round_trips_us, 0.5) / 2, percentile(round_trips_us, 0.99) / 2};
}

}  // namespace muster::probe
