// TrackerLinks: who dials whom among the classic workers of one group, and when. Pure. A worker
// tells its port only after it has dialled its own peers, so the order must have no circle: ranks
// have colours, neighbours different ones, and a rank dials neighbours of lower colours. Four
// colours are enough, so nobody waits for a chain longer than that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rendezvous/xgboost/tracker_protocol.h"

namespace muster::rendezvous {

/// Of a rank in a group of that size: a binary heap as the tree, the numbers as the ring.
[[nodiscard]] TrackerPlace place_of(int rank, int world_size);

class TrackerLinks {
 public:
  explicit TrackerLinks(int world_size);

  struct Order {
    std::vector<int> dial;  ///< ranks that listen
    int accept = 0;
  };
  /// `rank` has these links and asks for the others. None: peers that it must dial do not listen
  /// yet; it is among those that listens() returns.
  std::optional<Order> ask(int rank, const std::vector<int>& good);
  /// `rank` listens. Ranks that asked in vain and whose order() can be given now.
  std::vector<int> listens(int rank);
  /// Of a rank that asked.
  [[nodiscard]] Order order(int rank) const;

  [[nodiscard]] int colour(int rank) const { return ranks_[static_cast<size_t>(rank)].colour; }

 private:
  struct Rank {
    std::vector<int> neighbours;  // each once, sorted
    int colour = 0;
    bool listens = false;
    bool asks = false;  // and was not answered
    std::vector<int> good;
  };
  [[nodiscard]] bool may_dial(const Rank& rank) const;

  std::vector<Rank> ranks_;
};

}  // namespace muster::rendezvous
