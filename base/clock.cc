#include "base/clock.h"

namespace muster {

TimePoint SystemClock::now() const { return std::chrono::steady_clock::now(); }

WallTime SystemClock::wall_now() const { return std::chrono::system_clock::now(); }

}  // namespace muster
