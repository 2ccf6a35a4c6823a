#include "rendezvous/agreement/roll_call.h"

#include <iterator>
#include <utility>

namespace muster::rendezvous {

NodeDial RollCall::ask(const RosterEntry& node) {
  asked_[next_dial_] = node.identity.incarnation;
  return {next_dial_++, node.host, node.port};
}

std::optional<uint64_t> RollCall::answered(DialId dial) {
  const auto asked = asked_.extract(dial);
  return asked.empty() ? std::nullopt : std::optional(asked.mapped());
}

void RollCall::begin(std::vector<RosterEntry> nodes, TimePoint next_due) {
  waiting_.assign(std::make_move_iterator(nodes.begin()), std::make_move_iterator(nodes.end()));
  due_at_ = next_due;
}

std::optional<NodeDial> RollCall::next(const Awaited& awaited) {
  while (!waiting_.empty() && asked_.size() < kAtOnce) {
    const RosterEntry node = std::move(waiting_.front());
    waiting_.pop_front();
    if (!awaited || awaited(node.identity.incarnation)) return ask(node);
  }
  return std::nullopt;
}

}  // namespace muster::rendezvous
