// FakeClock: time that moves only when a test says so.
#pragma once

#include "base/clock.h"

namespace muster::testing {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override { return now_; }
  [[nodiscard]] WallTime wall_now() const override { return wall_; }
  void advance(Duration duration) {
    now_ += duration;
    wall_ += duration;
  }

 private:
  TimePoint now_ = TimePoint(std::chrono::hours(1));
  WallTime wall_ = WallTime(std::chrono::seconds(1'700'000'000));  // 2023-11-14T22:13:20Z
};

}  // namespace muster::testing
