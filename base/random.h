// Randomness for spreading what many processes would do at once. Not for secrets; where a seed
// comes from is the caller's.
#pragma once

#include <cstdint>

namespace muster {

/// In [0, 1); the same `state` gives the same numbers. splitmix64 (Steele, Lea, Flood 2014).
inline double next_fraction(uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  mixed ^= mixed >> 31;
  return static_cast<double>(mixed >> 11) * 0x1.0p-53;
}

}  // namespace muster
