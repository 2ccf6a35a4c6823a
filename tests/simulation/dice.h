// Dice: what the simulator leaves to chance, all of it from a seed.
#pragma once

#include <cstdint>
#include <random>

#include "base/clock.h"

namespace muster::simulation {

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  uint64_t number() { return random_(); }
  /// In [0, 1).
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  /// In [0, n).
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  Duration between(Duration low, Duration high) {
    return low + Duration(static_cast<int64_t>(unit() * static_cast<double>((high - low).count())));
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace muster::simulation
