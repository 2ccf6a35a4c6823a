// NodeTable: the nodes that a leader knows, found by incarnation and looked through in an order
// that is quick. Part of the inside of Leader, for its sources and its test alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "rendezvous/leader/leader_node.h"

namespace muster::rendezvous {

/// Of 16,000 nodes none is in a cache when a round ends. Their addresses lie side by side, so that
/// the processor fetches several of them at once; from one node of a tree to the next it cannot.
class NodeTable {
 public:
  /// Null: there is none.
  [[nodiscard]] LeaderNode* find(uint64_t incarnation) const;
  [[nodiscard]] bool contains(uint64_t incarnation) const { return find(incarnation) != nullptr; }
  /// The node of that incarnation; true: there was none, and it comes last. Of one that was taken
  /// out it is known how fit it was.
  std::pair<LeaderNode*, bool> add(uint64_t incarnation);
  /// Null: there is none. It is counted as long as it lives. O(n).
  std::unique_ptr<LeaderNode> take_out(uint64_t incarnation);
  /// Brings `nodes`, all of them in the table and each once, before the others. O(n).
  void put_first(std::span<LeaderNode* const> nodes);

  [[nodiscard]] auto begin() const { return order_.begin(); }
  [[nodiscard]] auto end() const { return order_.end(); }
  [[nodiscard]] size_t size() const { return order_.size(); }
  [[nodiscard]] bool empty() const { return order_.empty(); }
  [[nodiscard]] const NodeCounts& counts() const { return counts_; }

 private:
  NodeCounts counts_;  // before what is counted
  std::unordered_map<uint64_t, std::unique_ptr<LeaderNode>> nodes_;
  std::vector<LeaderNode*> order_;
  std::unordered_map<uint64_t, NodeHealth> unfit_;  // of those that were taken out
};

}  // namespace muster::rendezvous
