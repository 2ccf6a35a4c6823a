// Which candidate is this node itself? torchrun compares one name and one address, so that a second
// interface or an alias leaves a job in which nobody serves. Pure; the facts come from
// base/interfaces.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/interfaces.h"
#include "rendezvous/finding/host_list.h"

namespace muster::rendezvous {

struct SelfFacts {
  std::string host_name;                     ///< short or full, as the kernel has it
  std::vector<InterfaceAddress> interfaces;  ///< all of this machine
  /// --local-addr, "" = not given. When given, other addresses of this machine belong to somebody
  /// else: several nodes share it.
  std::string local_addr;
  uint16_t port = 0;  ///< own job port; 0 = not known yet. Only tells equal hosts apart
};

/// A candidate and what its name resolved to, empty = not known (yet).
struct ResolvedCandidate {
  Candidate candidate;
  std::vector<std::string> addresses;
};

struct SelfDecision {
  std::optional<int> candidate;  ///< index; none = this node is not among them
  std::string reason;            ///< "worker-3.svc is this node: its host name is worker-3"
};

/// In order of trust: --local-addr; the host name, where one name may be the other cut at a dot
/// ("worker-3" is "worker-3.svc"); `localhost` and loopback addresses; an address of an interface,
/// given or resolved. The first rule that fits any candidate decides; if it fits several, the own
/// port does, else none. A service ("dns:") is many nodes and never fits. That another agent of
/// this machine holds the port is found out by listening, not here.
[[nodiscard]] SelfDecision find_self(std::span<const ResolvedCandidate> candidates,
                                     const SelfFacts& facts);

}  // namespace muster::rendezvous
