// Replacement: fewer than a quorum of a round's nodes go on, because other nodes have come to the
// places of those that are missing. Pure; used by the leader (LeaderCore::replace_missing).
//
// A quorum keeps two parts of a split network from both running. It asks too much of a job of two
// nodes whose first machine is lost: the pod comes back as another process, and the node that is
// left is no quorum of the two. A missing node counts as gone if both of these hold:
//
// 1. Nobody else can lead: all nodes that may lead the job are here. The leader knows since when.
// 2. Another node has come to its place (same_place, node_identity.h), and either
//    - has its address. Then the former node has ended. What it led last is over in a lease; or
//    - has another address, as a pod that was replaced. Then the former node may live on a machine
//      that was cut off. But its round has ended by now if it cannot run without a node that is
//      here: ends_without().
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "rendezvous/agreement/electorate.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::rendezvous {

/// A node that is here, as far as this rule goes.
struct PlacedNode {
  uint64_t incarnation = 0;
  const Join* join = nullptr;
  TimePoint came_over;  ///< no other leader can have counted it since
  bool succeeded = false;
};

struct ReplacementFacts {
  TimePoint leaders_since;              ///< all who may lead are here since then
  std::vector<PlacedNode> here;         ///< borrowed for the call
  const Join* launcher = nullptr;       ///< whoever it is has rank 0; null = no node is appointed
  std::function<bool(uint64_t)> knows;  ///< the leader knows this incarnation: it is not missing
};

/// When a round of `ran` elsewhere has certainly ended because it misses a node that is here. None:
/// it may go on without them, because rounds may be smaller, or because none of those here was in
/// it and has not succeeded. Its leader has heard of such a node for no longer than the node of
/// that leader. The network may have held back what it said, which counts for one lease more.
[[nodiscard]] std::optional<TimePoint> ends_without(TimePoint now, const Electorate& ran,
                                                    const std::vector<PlacedNode>& here,
                                                    const JobOptions& options);

/// Marks the seats whose nodes are missing and count as gone (ElectorSeat::replaced), in both
/// rounds. Returns when this leader may form a round on the strength of it; none: nobody was
/// replaced. O(n log n).
std::optional<TimePoint> mark_replaced(TimePoint now, Electorates& electorates,
                                       const ReplacementFacts& facts, const JobOptions& options);

}  // namespace muster::rendezvous
