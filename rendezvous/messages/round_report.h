// What messages of both directions tell of a round, as plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/messages/node_identity.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::rendezvous {

/// A node of a round: its seat (RoundReport), with the incarnation of who has it now.
struct RosterEntry {
  NodeIdentity identity;
  std::string host;
  int port = 0;
  int workers = 0;        ///< its local world size
  std::string note = {};  ///< Join::note_for_peers
};

/// A worker has succeeded whose success is that of the job, so that no later failure is one.
struct JobDecision {
  bool stops = false;  ///< the other workers are stopped; else they may finish
  std::string reason;  ///< "the chief (rank 0) succeeded"
};

/// What a node knows of the round it was in; lets any leader rebuild the job's state.
struct RoundReport {
  uint64_t round = 0;
  uint64_t term = 0;
  int node_rank = -1;  ///< -1 = it was a spare then
  int node_count = 0;
  NodeIdentity seat;       ///< the place in the order of ranks: its own or that of whom it replaced
  int leader_rank = -1;    ///< node rank of that leader's own node
  bool confirmed = false;  ///< known to have run on all its nodes
  bool workers = false;    ///< some of this node's workers of that round may be alive
  bool succeeded = false;  ///< all of them exited 0
  bool intact = false;     ///< no worker of it was lost with its leader (Handover)
  std::optional<JobDecision> decision;  ///< of a worker of any node, as far as this one knows
  std::vector<RosterEntry> roster;      ///< by node rank, if this node has it
};

/// The round that runs without the receiver, or that ran last, and the budget: whoever leads next
/// hears of them from any node.
struct LastRound {
  uint64_t round = 0;  ///< 0 = there was none
  uint64_t term = 0;   ///< of that round
  int node_count = 0;  ///< of that round
  bool confirmed = false;
  BudgetState budget;
};
/// Who of one round is known to have ended.
struct EndedNodes {
  uint64_t round = 0;
  uint64_t term = 0;
  std::vector<int> node_ranks;
};
inline constexpr size_t kMaxEndedRounds = 2;  ///< as many as count (Electorates)

/// The order of rounds: a later leader's come after all of an earlier one's.
struct RoundKey {
  uint64_t term = 0;
  uint64_t round = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 reads the defaulted operator as a use of 0
  friend auto operator<=>(const RoundKey&, const RoundKey&) = default;
};
inline constexpr RoundKey kAnyRound{UINT64_MAX, UINT64_MAX};
[[nodiscard]] constexpr RoundKey key_of(const RoundReport& told) { return {told.term, told.round}; }
[[nodiscard]] constexpr RoundKey key_of(const EndedNodes& told) { return {told.term, told.round}; }
/// That node gives to and hears of what nodes of the round exchange, also when its own workers have
/// succeeded: others may wait for them.
[[nodiscard]] constexpr bool exchanges_in(const RoundReport& report, uint64_t round) {
  return report.round == round && (report.workers || report.succeeded);
}

}  // namespace muster::rendezvous
