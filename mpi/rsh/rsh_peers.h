// Which node of the job a host name in a hostfile means. Pure; no name is resolved: the members of
// the round are known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rendezvous/messages/round_report.h"

namespace muster::mpi {

inline constexpr size_t kMaxNamedPeers = 8;  ///< in a message; of a larger job the first

struct PeerAnswer {
  const rendezvous::RosterEntry* entry = nullptr;  ///< into the roster; null = no node is meant
  bool may_come = false;    ///< no node is meant yet, but nodes of the job are missing
  std::string reason = {};  ///< why no node is meant: one line that names some that are there
};

/// The member that `host` means, in letters of any case. The first rule decides that fits any
/// member: its whole name; both names up to the first dot (launchers cut domains off, controllers
/// append them); its address. "localhost" is `own_node`. If several members fit, none is meant.
/// `max_nodes`: if the roster has fewer nodes, more may come.
[[nodiscard]] PeerAnswer find_peer(const std::vector<rendezvous::RosterEntry>& roster,
                                   size_t max_nodes, std::string_view own_node,
                                   std::string_view host);

}  // namespace muster::mpi
