#include "rendezvous/leader/unused_nodes.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/exit_code.h"
#include "base/text.h"

namespace muster::rendezvous {

void UnusedNodes::begin(const JobOptions& options, const Electorate& last, const NodeTable& nodes) {
  const size_t count = last.seats.size();
  complete_ = fmt::format("the job '{}' of {} was complete", options.run_id,
                          counted(count, "node", "nodes"));
  all_ = options.rule.leader_alone();
  const int apart = options.rule.has_apart() ? 1 : 0;
  const auto left_out = std::ranges::count_if(nodes, [&last](const LeaderNode* node) {
    return node->seat && !last.has(node->incarnation());
  });
  spares_ = most_nodes(options) + apart - static_cast<int>(count) - static_cast<int>(left_out);
  lost_.clear();
  declared_.clear();
  for (const ElectorSeat& seat : last.seats) {
    if (seat.who && !nodes.contains(seat.incarnation)) lost_.push_back(seat.who->identity);
  }
}

JobEnd UnusedNodes::end_for(const LeaderNode& node, JobEnd end) {
  if (!end.success || all_ || node.seat) return end;
  if (take_place(node)) {
    end.reason += "; no round needed this node, a spare";
    return end;
  }
  end.success = false;
  end.exit_code = kExitUnavailable;
  end.reason = fmt::format(
      "no round ever had a place for this node: {}; if another job uses the same endpoint, give "
      "each its own --rdzv-id; if this node is a spare, say so with --spares",
      complete_);
  return end;
}

// Again, too, when its link broke before it heard of the end.
bool UnusedNodes::take_place(const LeaderNode& node) {
  if (std::ranges::find(declared_, node.incarnation()) != declared_.end()) return true;
  const auto former = std::ranges::find_if(
      lost_, [&node](const NodeIdentity& lost) { return same_place(lost, node.join.identity); });
  if (former == lost_.end() && spares_ <= 0) return false;
  if (former != lost_.end()) {
    lost_.erase(former);
  } else {
    --spares_;
  }
  declared_.push_back(node.incarnation());
  return true;
}

}  // namespace muster::rendezvous
