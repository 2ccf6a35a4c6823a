#include "nccl/pairs/pair_schedule.h"

namespace muster::nccl {

int pair_rounds(int nodes) {
  constexpr int kUsual = 2;
  if (nodes < 2) return 0;
  if (nodes == 2) return 1;
  return nodes == 3 ? 3 : kUsual;
}

std::optional<int> partner_of(int node, int nodes, int round) {
  if (nodes < 2) return std::nullopt;
  // Each round is the one before, turned by one place.
  const int shift = round;
  const int place = (node - shift + nodes) % nodes;
  const int other = place % 2 == 0 ? place + 1 : place - 1;
  if (other >= nodes) return std::nullopt;
  return (other + shift) % nodes;
}

std::vector<std::pair<int, int>> pairs_of(int nodes, int round) {
  std::vector<std::pair<int, int>> pairs;
  for (int node = 0; node < nodes; ++node) {
    const auto other = partner_of(node, nodes, round);
    if (other && *other > node) pairs.emplace_back(node, *other);
  }
  return pairs;
}

}  // namespace muster::nccl
