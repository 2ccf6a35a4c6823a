// Which node of the job a host name in a hostfile means. Pure; no name is resolved: the members of
// the round are known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/round_report.h"

namespace muster::launcher {

inline constexpr size_t kMaxNamedPeers = 8;  ///< in a message; of a larger job the first

struct PeerAnswer {
  const rendezvous::RosterEntry* entry = nullptr;  ///< into the roster; null = none
  bool may_come = false;                           ///< none yet, but nodes of the job are missing
  std::string reason = {};  ///< of none, one line that names some who are there
};

/// The member that `host`, in letters of any case, means, by the first rule that fits any: its
/// whole name, the same up to the first dot (of either: launchers cut and controllers append
/// domains), its address; "localhost" is `own_node`. Where several fit, none is meant. `max_nodes`:
/// with fewer in the roster more may come.
[[nodiscard]] PeerAnswer find_peer(const std::vector<rendezvous::RosterEntry>& roster,
                                   size_t max_nodes, std::string_view own_node,
                                   std::string_view host);

}  // namespace muster::launcher
