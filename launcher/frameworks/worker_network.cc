#include "launcher/frameworks/worker_network.h"

#include <algorithm>

namespace muster::launcher {

std::string interface_of(const std::vector<InterfaceAddress>& addresses, const std::string& host) {
  const auto own = std::ranges::find(addresses, host, &InterfaceAddress::host);
  if (own == addresses.end() || own->is_loopback || !own->is_up) return "";
  const auto first = std::ranges::find(addresses, own->interface, &InterfaceAddress::interface);
  return first == own ? own->interface : "";
}

}  // namespace muster::launcher
