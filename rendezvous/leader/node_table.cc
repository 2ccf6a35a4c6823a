#include "rendezvous/leader/node_table.h"

#include <algorithm>
#include <unordered_set>

namespace muster::rendezvous {

LeaderNode* NodeTable::find(uint64_t incarnation) const {
  const auto found = nodes_.find(incarnation);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::pair<LeaderNode*, bool> NodeTable::add(uint64_t incarnation) {
  const auto [entry, fresh] = nodes_.try_emplace(incarnation);
  if (fresh) {
    entry->second = std::make_unique<LeaderNode>(incarnation, counts_);
    order_.push_back(entry->second.get());
    if (const auto unfit = unfit_.extract(incarnation)) entry->second->health = unfit.mapped();
  }
  return {entry->second.get(), fresh};
}

std::unique_ptr<LeaderNode> NodeTable::take_out(uint64_t incarnation) {
  auto taken_out = nodes_.extract(incarnation);
  if (taken_out.empty()) return nullptr;
  order_.erase(std::ranges::find(order_, taken_out.mapped().get()));
  if (const NodeHealth& health = taken_out.mapped()->health; health.is_doubtful())
    unfit_.insert_or_assign(incarnation, health);
  return std::move(taken_out.mapped());
}

void NodeTable::put_first(std::span<LeaderNode* const> nodes) {
  if (std::ranges::equal(nodes, std::span(order_).first(nodes.size()))) return;
  const std::unordered_set<const LeaderNode*> first(nodes.begin(), nodes.end());
  std::vector<LeaderNode*> order(nodes.begin(), nodes.end());
  for (LeaderNode* node : order_) {
    if (!first.contains(node)) order.push_back(node);
  }
  order_ = std::move(order);
}

}  // namespace muster::rendezvous
