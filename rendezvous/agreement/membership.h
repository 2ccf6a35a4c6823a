// Membership: who is in the next round, on which rank, and why. Pure functions; the leader calls
// them whenever somebody came, went or a time they named has come.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/node_identity.h"

namespace muster::rendezvous {

/// A node that is connected, not expelled, not leaving, and has no workers alive.
struct Joiner {
  NodeIdentity identity;
  std::optional<NodeIdentity> seat;  ///< its seat in the last round; none = it was not in it
  std::optional<int> node_rank;      ///< --node-rank
  int local_world_size = 1;
  std::string role;
  TimePoint joined_at;
};

/// What happened before this round.
struct RoundHistory {
  bool had_round = false;
  int last_nodes = 0;                      ///< size of the last round
  std::vector<NodeIdentity> empty_seats;   ///< of the last round's nodes that are gone
  std::optional<TimePoint> replace_until;  ///< the policy's word; none = do not wait
  std::optional<int> target_nodes;         ///< asked for at run time; none = as many as possible
};

struct RoundMember {
  size_t joiner = 0;  ///< index into the joiners
  NodeIdentity seat;
  int rank_offset = 0;
  int role_rank_offset = 0;
  int role_world_size = 0;
};

/// `members` by node rank; empty = not yet. `reason` is one line with its numbers: "3 of 4..8
/// nodes, last call for 12 s more".
struct RoundDecision {
  std::vector<RoundMember> members;
  int world_size = 0;
  bool last_call = false;            ///< min is reached, more are awaited
  std::optional<TimePoint> wake_at;  ///< when time alone may change the answer
  std::string reason;
};

/// First round: at once with max nodes (or the target), else `last_call` after the last arrival
/// once an allowed size is there. Later rounds: at once when as many as before are there (spares
/// take empty seats), else after `replace_until` with the largest allowed size. Who was in the last
/// round goes before newcomers; among those the lower seat, of two of one place the lower
/// incarnation. With `known_nodes` only the complete
/// set of node ranks will do. Members come out by seat, except that a --node-rank is honoured when
/// it is below the size and nobody with a lower seat asks for the same. With an appointed
/// first node (RoundRule) there is no round without the one that asks for node rank 0; where the
/// leader's node is alone, it is the only one in it,
/// and the others count. O(n log n) in joiners, at most kMaxNodes of them.
[[nodiscard]] RoundDecision decide_round(TimePoint now, std::span<const Joiner> joiners,
                                         const RoundHistory& history, const JobOptions& options);

}  // namespace muster::rendezvous
