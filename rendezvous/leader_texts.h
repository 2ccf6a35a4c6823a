// What a leader says in more than a word: parts of its reasons. Pure; for its sources alone.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/electorate.h"
#include "rendezvous/leader_node.h"

namespace muster::rendezvous {

/// Names in one reason; more end in "...".
inline constexpr size_t kNamesInReason = 8;

/// The same text, apart from digits and points: counts and seconds are no news.
[[nodiscard]] bool same_but_for_numbers(std::string_view left, std::string_view right);

/// "here: node-1, node-2; missing: node-3": who joined, and who of the last round did not come
/// back; before the first round, who of those `expected` did not come.
[[nodiscard]] std::string who_is_here(const std::map<uint64_t, LeaderNode>& nodes,
                                      const Electorate& last,
                                      const std::vector<std::string>& expected);

/// "; node-0 (10.0.0.1:29400) may run where it is not seen": whom of the last round nobody vouches
/// for; "" = none that is known.
[[nodiscard]] std::string who_may_live(const std::map<uint64_t, LeaderNode>& nodes,
                                       const Electorate& last);

/// Two neighbours in `roster` that cannot be told apart by name or index, and what follows; "" =
/// there are none.
[[nodiscard]] std::string same_name_text(const std::vector<RosterEntry>& roster);

}  // namespace muster::rendezvous
