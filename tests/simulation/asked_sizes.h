// AskedSizes: the simulator's own book of the sizes that users asked for and that leaders took. A
// copy of an entry goes wherever the protocol says that a request goes: with each ack to a node,
// with each join, and with what a node knows when it leads, to a leader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace muster::simulation {

struct AskedSize {
  uint64_t term = 0;    ///< of the leader that took it, or that of a request which it knew
  uint64_t number = 0;  ///< in the order of time; 0 = nobody asked
  int nodes = 0;        ///< 0 = as many as may be
  TimePoint known;      ///< to who has this copy, since

  /// What a later leader took counts before what an older one did, whatever the time.
  [[nodiscard]] std::pair<uint64_t, uint64_t> order() const { return {term, number}; }
  void learn(TimePoint now, const AskedSize& other) {
    if (other.order() <= order()) return;
    *this = other;
    known = now;
  }
};

class AskedSizes {
 public:
  AskedSize take(TimePoint now, uint64_t term, int nodes) {
    return taken_.emplace_back(AskedSize{term, taken_.size() + 1, nodes, now});
  }
  /// Nothing was taken after it, by whomever.
  [[nodiscard]] bool is_newest(const AskedSize& asked) const {
    return asked.number == taken_.size();
  }
  /// May a leader that must know of `least` want so many? It may know of later ones.
  [[nodiscard]] bool may_be(const AskedSize& least, int nodes) const {
    return std::ranges::any_of(taken_, [&](const AskedSize& asked) {
      return asked.order() >= least.order() && asked.nodes == nodes;
    });
  }

 private:
  std::vector<AskedSize> taken_;
};

}  // namespace muster::simulation
