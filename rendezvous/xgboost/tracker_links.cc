#include "rendezvous/xgboost/tracker_links.h"

#include <algorithm>

namespace muster::rendezvous {

namespace {

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

std::vector<int> neighbours_of(const TrackerPlace& place) {
  std::vector<int> neighbours = place.tree;
  for (const int rank : {place.previous, place.next}) {
    if (rank >= 0) neighbours.push_back(rank);
  }
  std::sort(neighbours.begin(), neighbours.end());
  neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
  return neighbours;
}

}  // namespace

TrackerPlace place_of(int rank, int world_size) {
  TrackerPlace place;
  place.rank = rank;
  place.world_size = world_size;
  if (rank > 0) {
    place.parent = (rank + 1) / 2 - 1;
    place.tree.push_back(place.parent);
  }
  for (const int child : {2 * rank + 1, 2 * rank + 2}) {
    if (child < world_size) place.tree.push_back(child);
  }
  if (world_size == 1) return place;
  place.previous = (rank + world_size - 1) % world_size;
  place.next = (rank + 1) % world_size;
  return place;
}

TrackerLinks::TrackerLinks(int world_size) : ranks_(static_cast<size_t>(world_size)) {
  for (int number = 0; number < world_size; ++number) {
    Rank& rank = ranks_[static_cast<size_t>(number)];
    rank.neighbours = neighbours_of(place_of(number, world_size));
    const auto taken = [this, &rank, number](int colour) {
      return std::any_of(
          rank.neighbours.begin(), rank.neighbours.end(), [this, number, colour](int other) {
            return other < number && ranks_[static_cast<size_t>(other)].colour == colour;
          });
    };
    while (taken(rank.colour)) ++rank.colour;
  }
}

std::optional<TrackerLinks::Order> TrackerLinks::ask(int rank, const std::vector<int>& good) {
  Rank& asking = ranks_[static_cast<size_t>(rank)];
  asking.good = good;
  asking.asks = !may_dial(asking);
  if (asking.asks) return std::nullopt;
  return order(rank);
}

std::vector<int> TrackerLinks::listens(int rank) {
  Rank& listening = ranks_[static_cast<size_t>(rank)];
  listening.listens = true;
  std::vector<int> ready;
  for (const int number : listening.neighbours) {
    Rank& other = ranks_[static_cast<size_t>(number)];
    if (!other.asks || !may_dial(other)) continue;
    other.asks = false;
    ready.push_back(number);
  }
  return ready;
}

TrackerLinks::Order TrackerLinks::order(int rank) const {
  const Rank& asking = ranks_[static_cast<size_t>(rank)];
  Order order;
  for (const int other : asking.neighbours) {
    if (contains(asking.good, other)) continue;
    if (ranks_[static_cast<size_t>(other)].colour < asking.colour) {
      order.dial.push_back(other);
    } else {
      ++order.accept;
    }
  }
  return order;
}

bool TrackerLinks::may_dial(const Rank& rank) const {
  return std::all_of(rank.neighbours.begin(), rank.neighbours.end(), [this, &rank](int number) {
    const Rank& other = ranks_[static_cast<size_t>(number)];
    return other.colour > rank.colour || other.listens || contains(rank.good, number);
  });
}

}  // namespace muster::rendezvous
