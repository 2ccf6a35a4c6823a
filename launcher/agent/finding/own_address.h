// Which of this machine's addresses other nodes reach it by, when it is known by a name. Pure; who
// looks the name up is own_host.h.
#pragma once

#include <string>
#include <vector>

#include "base/interfaces.h"
#include "base/resolver.h"

namespace muster::launcher {

/// `resolved` (what that name means here, may be empty) as far as an interface has it, else the
/// source of the default route, else the first address of an interface that is up, else loopback.
[[nodiscard]] std::string reachable_host(const std::vector<std::string>& resolved,
                                         const std::vector<InterfaceAddress>& interfaces,
                                         const std::string& default_source);

/// What a name given as --local-addr comes to. `interfaces` empty = unknown.
struct OwnName {
  std::string address;  ///< of an interface; "" = it means loopback, which says nothing to others
  std::string problem;  ///< not "" = it cannot be used (yet), in one line that names it
};
[[nodiscard]] OwnName own_name(const std::string& name, const LookupAnswer& answer,
                               const std::vector<InterfaceAddress>& interfaces);

}  // namespace muster::launcher
