// The door to time. Decisions take a TimePoint as an argument; only clock.cc asks the operating
// system.
#pragma once

#include <chrono>

namespace muster {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, Duration>;

/// Monotonic time for deadlines, wall time for people (logs, error files). Tests use FakeClock.
class Clock {
 public:
  virtual ~Clock() = default;
  /// CLOCK_MONOTONIC: never goes back, stands still while the machine sleeps.
  [[nodiscard]] virtual TimePoint now() const = 0;
  /// CLOCK_REALTIME: may jump; never used for a decision.
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  [[nodiscard]] WallTime wall_now() const override;
};

/// Seconds with fraction, for messages: 1.5 for 1500 ms.
[[nodiscard]] constexpr double to_seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace muster
