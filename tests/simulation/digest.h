// Digest: one number for all that happened in a simulated job, to compare two builds seed by seed:
// a change that is meant to change nothing leaves all of them as they are. Texts do not count.
#pragma once

#include <cstdint>

namespace muster::simulation {

class Digest {
 public:
  void add(uint64_t value) {
    constexpr uint64_t kPrime = 0x100000001b3;  // FNV-1a's, over words in place of bytes
    hash_ = (hash_ ^ value) * kPrime;
    hash_ ^= hash_ >> 32;
  }
  [[nodiscard]] uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace muster::simulation
