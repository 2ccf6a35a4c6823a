#include "rendezvous/wire/roster_parts.h"

#include <algorithm>
#include <utility>

#include "rendezvous/wire/control_protocol.h"

namespace muster::rendezvous {

std::vector<RosterPart> in_parts(const RoundKey& round, const std::vector<RosterEntry>& roster) {
  std::vector<RosterPart> parts;
  for (size_t begin = 0; begin < roster.size(); begin += kMaxRosterPart) {
    const auto first = roster.begin() + static_cast<std::ptrdiff_t>(begin);
    const size_t count = std::min(kMaxRosterPart, roster.size() - begin);
    parts.push_back({round.round, round.term, {first, first + static_cast<std::ptrdiff_t>(count)}});
  }
  return parts;
}

void RosterParts::take(const RosterPart& part) {
  const RoundKey round{part.term, part.round};
  if (round != round_) nodes_.clear();
  round_ = round;
  if (nodes_.size() + part.nodes.size() > static_cast<size_t>(kMaxNodes)) return;
  nodes_.insert(nodes_.end(), part.nodes.begin(), part.nodes.end());
}

std::vector<RosterEntry> RosterParts::release(const RoundKey& round, size_t nodes) {
  auto released = std::exchange(nodes_, {});
  if (round != round_ || released.size() != nodes) return {};
  return released;
}

}  // namespace muster::rendezvous
