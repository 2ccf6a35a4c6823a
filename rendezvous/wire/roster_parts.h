// The list of all nodes of a round in several messages: a frame bounds how many nodes one can name,
// and a job may have more. Pure. The leader makes the parts, MemberCore puts them together.
#pragma once

#include <vector>

#include "rendezvous/messages/leader_messages.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

/// `roster` as messages of at most kMaxRosterPart nodes, in order. O(n).
[[nodiscard]] std::vector<RosterPart> in_parts(const RoundKey& round,
                                               const std::vector<RosterEntry>& roster);

/// What has come of the list of the round that is assigned next.
class RosterParts {
 public:
  /// Parts of another round than before begin a new list. More than kMaxNodes are not kept.
  void take(const RosterPart& part);
  /// The list of that round, if all `nodes` of it have come, else an empty one. Nothing is kept.
  [[nodiscard]] std::vector<RosterEntry> release(const RoundKey& round, size_t nodes);

 private:
  RoundKey round_;
  std::vector<RosterEntry> nodes_;
};

}  // namespace muster::rendezvous
