// PairSchedule: who measures with whom. Two rounds, however many nodes there are: a node that is
// slow is so with both of its partners, and each partner is fine with the other one. Of three nodes
// each pair is needed. Pure.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace muster::nccl {

/// 2; of two nodes 1, of three 3, of one 0.
[[nodiscard]] int pair_rounds(int nodes);

/// The partner of `node` (0 to nodes - 1) in that round (from 0): 0-1, 2-3, ... and then 1-2, 3-4,
/// ..., last-0. None: of an odd number one has none.
[[nodiscard]] std::optional<int> partner_of(int node, int nodes, int round);

/// All pairs of a round, the lower node first, in order.
[[nodiscard]] std::vector<std::pair<int, int>> pairs_of(int nodes, int round);

}  // namespace muster::nccl
