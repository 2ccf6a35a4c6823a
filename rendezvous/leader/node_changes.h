// NodeChanges: how many nodes a job has lost and won since its first round, for its summary. Later
// leaders go on counting, with what travels in the budget. Part of the inside of Leader. Pure.
#pragma once

#include "rendezvous/agreement/electorate.h"
#include "rendezvous/leader/node_table.h"
#include "rendezvous/messages/leader_messages.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::rendezvous {

class NodeChanges {
 public:
  /// `next` follows `last`, while these `nodes` are there. Nobody changes before the first round.
  void count(const Electorate& last, const Electorate& next, const NodeTable& nodes);
  /// The job ends in `last`. After success whoever is missing has done its part.
  [[nodiscard]] JobCounts at_end(const Electorate& last, const NodeTable& nodes,
                                 bool success) const;

  /// From the leader before this one, and to the next.
  void take(const BudgetState& budget);
  void put_into(BudgetState& budget) const;

 private:
  int lost_ = 0;
  int joined_ = 0;
};

}  // namespace muster::rendezvous
