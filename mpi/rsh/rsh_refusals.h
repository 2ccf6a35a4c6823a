// RshRefusals: the log lines about calls that an agent refuses. Whoever can reach the job port can
// be refused as often as they like, so only the first refusals of a while get a line of their own.
#pragma once

#include <string>

#include "base/loop.h"

namespace muster::mpi {

/// So many refusals are logged within kRefusalWindow. The next line says how many were not.
inline constexpr int kMaxRefusalLines = 10;
inline constexpr Duration kRefusalWindow = std::chrono::seconds(10);

class RshRefusals {
 public:
  /// `loop` is borrowed, for its time.
  explicit RshRefusals(const Loop& loop) : loop_(loop) {}
  void tell(const std::string& peer, const std::string& reason);

 private:
  const Loop& loop_;
  TimePoint window_ends_;
  int told_ = 0;    // in this window
  int untold_ = 0;  // since the last line
};

}  // namespace muster::mpi
