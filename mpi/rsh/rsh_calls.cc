#include "mpi/rsh/rsh_calls.h"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "mpi/rsh/rsh_door.h"

namespace muster::mpi {

Result<std::unique_ptr<RshCalls>> RshCalls::create(RshCallsSetup setup) {
  std::unique_ptr<RshCalls> calls(new RshCalls(std::move(setup)));
  MUSTER_RETURN_IF_ERROR(calls->open());
  return calls;
}

RshCalls::RshCalls(RshCallsSetup setup)
    : setup_(std::move(setup)),
      context_{.loop = setup_.loop,
               .node = setup_.node,
               .run_id = setup_.run_id,
               .find = setup_.find,
               .take_link =
                   [this](const rendezvous::RosterEntry& node, RshChannelHandlers handlers) {
                     return take_link(node, std::move(handlers));
                   },
               .keep_link =
                   [this](uint64_t incarnation, std::unique_ptr<RshChannel> link) {
                     keep_link(incarnation, std::move(link));
                   },
               .tell_refused = setup_.tell_refused,
               .tell_no_node = setup_.tell_no_node} {}

// ---- the door

Status RshCalls::open() {
  auto door =
      RshDoor::create(setup_.loop, setup_.door, [this](UniqueFd connection, Status admitted) {
        take(std::move(connection), std::move(admitted));
      });
  if (!door) return std::move(door).error();
  door_ = std::move(*door);
  return {};
}

void RshCalls::take(UniqueFd connection, Status admitted) {
  if (admitted && stopping_)
    admitted = Error{Code::kPeer, 0, "the agent of " + setup_.node + " ends"};
  if (relays_.size() >= kMaxRshCalls) return setup_.tell_refused("too many calls at a time");
  const uint64_t number = next_number_++;
  relays_.emplace(number, std::make_unique<RshRelay>(
                              context_, std::move(connection), std::move(admitted), [this] {
                                cleaning_ = setup_.loop.soon([this] { remove_ended(); });
                              }));
}

void RshCalls::remove_ended() {
  std::erase_if(relays_, [](const auto& entry) { return entry.second->ended(); });
  if (stopping_ && relays_.empty() && stopped_) std::exchange(stopped_, {})();
}

void RshCalls::nodes_changed() {
  idle_.clear();
  for (const auto& [number, relay] : relays_) relay->nodes_changed();
}

void RshCalls::stop(std::function<void()> idle) {
  stopping_ = true;
  stopped_ = std::move(idle);
  idle_.clear();
  for (const auto& [number, relay] : relays_) relay->stop();
  cleaning_ = setup_.loop.soon([this] { remove_ended(); });
}

// ---- connections between agents

std::unique_ptr<RshChannel> RshCalls::take_link(const rendezvous::RosterEntry& node,
                                                RshChannelHandlers handlers) {
  drop_old_links();
  for (auto idle = idle_.rbegin(); idle != idle_.rend(); ++idle) {
    if (idle->incarnation != node.identity.incarnation || !idle->channel->is_quiet()) continue;
    std::unique_ptr<RshChannel> link = std::move(idle->channel);
    idle_.erase(std::next(idle).base());
    link->set_handlers(std::move(handlers));
    return link;
  }
  return dial(node, std::move(handlers));
}

std::unique_ptr<RshChannel> RshCalls::dial(const rendezvous::RosterEntry& node,
                                           RshChannelHandlers handlers) {
  const Address address{node.host, static_cast<uint16_t>(node.port)};
  if (setup_.tls != nullptr)
    return RshChannel::dial(setup_.loop, setup_.network, address, setup_.tls, std::move(handlers));
  return RshChannel::over(setup_.loop, connect_to_commands(node.identity.incarnation), "its agent",
                          std::move(handlers));
}

void RshCalls::keep_link(uint64_t incarnation, std::unique_ptr<RshChannel> link) {
  if (stopping_) return;
  // Whatever it says now is that the other agent ends; it is looked at before it is taken.
  link->set_handlers(
      {.on_open = [] {}, .on_message = [](const RshMessage&) {}, .on_closed = [](const Error&) {}});
  const auto same = [incarnation](const IdleLink& idle) { return idle.incarnation == incarnation; };
  const auto others = std::count_if(idle_.begin(), idle_.end(), same);
  if (static_cast<size_t>(others) >= kMaxIdleRshLinksPerNode)
    idle_.erase(std::find_if(idle_.begin(), idle_.end(), same));
  if (idle_.size() >= kMaxIdleRshLinks) idle_.pop_front();
  idle_.push_back({incarnation, std::move(link), setup_.loop.now() + kRshIdleLink});
  drop_old_links();
}

void RshCalls::drop_old_links() {
  while (!idle_.empty() && idle_.front().until <= setup_.loop.now()) idle_.pop_front();
  if (idle_.empty()) return idle_timer_.reset();
  idle_timer_ = setup_.loop.at(idle_.front().until, [this] { drop_old_links(); });
}

}  // namespace muster::mpi
