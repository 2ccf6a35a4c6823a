#include "rendezvous/leader/node_changes.h"

#include <algorithm>

namespace muster::rendezvous {

namespace {

// Of the nodes of `round`: who is not here any more, or goes, and had work left.
int count_lost(const Electorate& round, const NodeTable& nodes) {
  return static_cast<int>(std::ranges::count_if(round.seats, [&nodes](const ElectorSeat& seat) {
    const LeaderNode* node = nodes.find(seat.incarnation);
    return !seat.succeeded && (node == nullptr || node->leave_by());
  }));
}

}  // namespace

void NodeChanges::count(const Electorate& last, const Electorate& next, const NodeTable& nodes) {
  if (last.round == 0) return;
  lost_ += count_lost(last, nodes);
  joined_ += static_cast<int>(std::ranges::count_if(
      next.seats, [&last](const ElectorSeat& seat) { return !last.has(seat.incarnation); }));
}

JobCounts NodeChanges::at_end(const Electorate& last, const NodeTable& nodes, bool success) const {
  return {.attempts = static_cast<int>(std::min<uint64_t>(last.round, kMaxAttempt)),
          .nodes_lost = lost_ + (success ? 0 : count_lost(last, nodes)),
          .nodes_joined = joined_};
}

void NodeChanges::take(const BudgetState& budget) {
  lost_ = std::max(lost_, budget.nodes_lost);
  joined_ = std::max(joined_, budget.nodes_joined);
}

void NodeChanges::put_into(BudgetState& budget) const {
  budget.nodes_lost = lost_;
  budget.nodes_joined = joined_;
}

}  // namespace muster::rendezvous
