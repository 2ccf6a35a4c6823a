// LineBudget: how many log lines strangers may cause. Whoever can reach a port can be refused as
// often as they like, so only the first lines of a while are written.
#pragma once

#include <optional>

#include "base/loop.h"

namespace muster {

/// So many lines are written within kLineWindow. The next one says how many were not.
inline constexpr int kMaxLines = 10;
inline constexpr Duration kLineWindow = std::chrono::seconds(10);

class LineBudget {
 public:
  /// `loop` is borrowed, for its time.
  explicit LineBudget(const Loop& loop) : loop_(loop) {}
  /// For one more line. None: it must not be written. Else how many were not since the last one
  /// that was.
  std::optional<int> take();

 private:
  const Loop& loop_;
  TimePoint window_ends_;
  int told_ = 0;    // in this window
  int untold_ = 0;  // since the last line
};

}  // namespace muster
