// How many nodes the rounds shall have, and when one changes for it.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"

namespace muster::rendezvous {

Status LeaderCore::follow_list(std::optional<int> nodes) {
  MUSTER_RETURN_IF_ERROR(target_.follow_list(nodes, options_));
  dirty_ = true;
  return {};
}

Status LeaderCore::resize(TimePoint now, const SizeWish& wish) {
  // It may have been frozen: what it last counted says nothing then, and others may lead.
  if (!stepped_down_) check_liveness(now);
  if (!stepped_down_) check_quorum(now);
  if (stepped_down_ || !quorum_since_)
    return Error{Code::kPeer, 0, "too few nodes of the job are with this leader: ask again later"};
  MUSTER_RETURN_IF_ERROR(target_.ask(wish.nodes, wish.at_once, term_, options_));
  const std::string wanted = wish.nodes == 0
                                 ? "as many nodes as may be"
                                 : counted(static_cast<size_t>(wish.nodes), "node", "nodes");
  voice_.log(
      log::Level::kInfo, kEventJobSize,
      fmt::format("{}{}, asked for by '{}'", wanted, wish.at_once ? " at once" : "", wish.by));
  dirty_ = true;
  // At once, for whoever leads next; it answers no heartbeat, and so renews no lease.
  constexpr bool kInVain = true;
  for (const LeaderNode* node : nodes_)
    send(*node, Ack{0, 0, kInVain, to_ms(now - began_), target_.asked()});
  return {};
}

// A first round that cannot ask all who may lead counts on there being no more (takeover.h).
// `here`: that have spoken since the last one came, so that nobody counts besides its successor.
void LeaderCore::watch_surplus(int here) {
  const bool alone = candidates_ == 1 || options_.rule.has_appointed() || elected_safe_at_;
  if (alone || options_.rule.leader_alone() || options_.known_nodes) return;
  const int most = most_nodes(options_);
  if (here <= most) return;
  constexpr bool kWarn = true;
  voice_.say_when_changed(
      kEventNodeSurplus,
      fmt::format("{} are here, and {} were told of; a network that is split when the job begins "
                  "could make two jobs of them: say with --spares how many there may be beyond MAX",
                  counted(static_cast<size_t>(here), "node", "nodes"), most),
      kWarn);
}

// Spares may let the round grow; a target below its size makes it smaller.
void LeaderCore::watch_size(TimePoint now, int nodes) {
  const auto free = free_nodes();
  // A node that failed its last check waits for a round that begins for another reason.
  const auto spares = std::ranges::count_if(
      free, [](const LeaderNode* node) { return !node->health.is_doubtful(); });
  if (options_.known_nodes || options_.rule.leader_alone()) return;
  const int wanted = target_.nodes().value_or(options_.max_nodes);
  const int here = nodes + static_cast<int>(spares);
  const int possible = largest_allowed(options_, std::min(here, wanted)).value_or(nodes);
  if (possible < nodes && wanted < nodes) {
    return break_round(now, BreakCause::kResized,
                       fmt::format("the target is {}, not {}",
                                   counted(static_cast<size_t>(wanted), "node", "nodes"), nodes));
  }
  if (possible <= nodes) {
    voice_.forget(kEventRoundGrowth);
    return;
  }
  const GrowVerdict verdict = target_.hurried(policy_.may_grow(now));
  if (!verdict.now)
    voice_.say_when_changed(
        kEventRoundGrowth, fmt::format("from {} to {} nodes: {}", nodes, possible, verdict.reason));
  if (verdict.now) {
    ending_.growing = true;
    return break_round(now, BreakCause::kResized,
                       fmt::format("grows from {} to {}", nodes,
                                   counted(static_cast<size_t>(possible), "node", "nodes")));
  }
  if (verdict.at) wake(*verdict.at);
}

}  // namespace muster::rendezvous
