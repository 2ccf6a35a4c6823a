// Progress: how far the workers of this node are in an attempt, made of what they say. Pure: all
// times are arguments.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "launcher/progress/progress_report.h"

namespace muster::launcher {

/// The rate is that of so long, seen at so many points.
inline constexpr Duration kRateWindow = std::chrono::minutes(1);
inline constexpr Duration kRateSample = std::chrono::seconds(1);
/// What has not moved for so long gives way to whatever else moves.
inline constexpr Duration kProgressStale = std::chrono::seconds(30);

/// What is known at one moment, of the rank that speaks for this node.
struct ProgressView {
  int rank = 0;
  std::optional<int64_t> step;
  std::optional<int64_t> total;
  std::optional<double> epoch;
  std::map<std::string, double> metrics;
  std::optional<double> rate;     ///< steps a second; none = too early to say
  std::optional<double> percent;  ///< 0 to 100
  std::optional<double> eta_s;    ///< seconds that are left
  Duration unmoved{};             ///< since it moved last, or since the attempt began
};

/// {"rank":0,"step":…,"total":…,"epoch":…,"metrics":{…},"rate":…,"percent":…,"eta_s":…,
/// "unmoved_s":…}; what is not known is absent.
[[nodiscard]] std::string progress_json(const ProgressView& view);

class Progress {
 public:
  /// Forgets everything: what the workers say from now on is said of a new attempt.
  void begin_attempt(TimePoint now);
  /// What a worker says.
  void take(TimePoint now, int rank, const ProgressReport& report);
  /// None: nobody has said anything. Rank 0 speaks if it says anything, else the lowest that does.
  [[nodiscard]] std::optional<ProgressView> view(TimePoint now) const;
  /// How far the rank that speaks got in this attempt, in steps from the beginning of the training;
  /// it never falls. -1 = not known: a bar without a name may be of an epoch, or of anything else.
  [[nodiscard]] int64_t furthest() const;

 private:
  struct Sample {
    TimePoint at;
    int64_t step;
  };
  struct Rank {
    ProgressSource source = ProgressSource::kBar;
    std::string bar;
    std::optional<int64_t> step;
    std::optional<int64_t> total;
    std::optional<double> epoch;
    std::map<std::string, double> metrics;
    bool is_placed = false;  // step counts from the beginning of the training
    int64_t furthest = -1;   // of those that do
    TimePoint moved;
    std::deque<Sample> samples;  // of the rate, the oldest first
  };
  static bool counts(const Rank& rank, TimePoint now, const ProgressReport& report);
  static void move(Rank& rank, TimePoint now, const ProgressReport& report);
  static std::optional<double> rate(const Rank& rank);

  std::map<int, Rank> ranks_;
  TimePoint began_;
};

}  // namespace muster::launcher
