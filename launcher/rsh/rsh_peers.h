// Which node of the job a host name in a hostfile means. Pure; no name is resolved: the members of
// the round are known.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "rendezvous/agent_messages.h"

namespace muster::launcher {

inline constexpr size_t kMaxNamedPeers = 8;  ///< in a message; of a larger job the first

/// The member that `host` means, by the first rule that fits any: its whole name, the same up to
/// the first dot (of either: launchers cut and controllers append domains), its address;
/// "localhost" is `own_node`. The pointer is into `roster`. kPeer, one line: nobody, naming some
/// who are there; or several.
Result<const rendezvous::RosterEntry*> find_peer(const std::vector<rendezvous::RosterEntry>& roster,
                                                 std::string_view own_node, std::string_view host);

}  // namespace muster::launcher
