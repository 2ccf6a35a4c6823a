// Curves: what the page draws of a job's progress, few enough points for a screen. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launcher/dashboard/event_store.h"

namespace muster::launcher {

inline constexpr size_t kMaxCurves = 12;           ///< "step" and metrics, by name
inline constexpr size_t kMaxMetricNameBytes = 64;  ///< what is longer is cut
inline constexpr size_t kMaxCurvePoints = 400;     ///< of one curve
/// A rank speaks for the job until it is silent for so long; then the next one does.
inline constexpr int64_t kSpeakerSilenceMs = 30'000;

struct Curve {
  std::string name;                                ///< "step", or that of a metric
  std::vector<std::pair<int64_t, double>> points;  ///< time in ms since 1970, value; by time
};

/// `points`: by time. Those of the rank that speaks for the job: the lowest one that says anything.
/// Of many points in a short time the smallest and the largest stay, so that a spike is seen.
[[nodiscard]] std::vector<Curve> curves_of(std::span<const StoredProgress> points);

/// Of the last points of all nodes the one that speaks for the job: the lowest rank among those who
/// said something within kSpeakerSilenceMs of the newest. None: no points.
[[nodiscard]] std::optional<size_t> speaker_of(std::span<const StoredProgress> last);
/// That point without what every event has, and with "time_ms" and "node"; a JSON object.
[[nodiscard]] std::string progress_json(const StoredProgress& point);

/// At most kMaxCurvePoints of them, the first and the last among them.
[[nodiscard]] std::vector<std::pair<int64_t, double>> thinned(
    std::vector<std::pair<int64_t, double>> points);

/// {"job":…,"curves":[{"name":"step","points":[[ms,value],…]},…]}.
[[nodiscard]] std::string curves_json(const std::string& job, std::span<const Curve> curves);

}  // namespace muster::launcher
