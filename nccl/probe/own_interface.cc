#include "nccl/probe/own_interface.h"

#include "base/interfaces.h"

namespace muster::probe {

std::string own_interface(const std::string& host) {
  const auto addresses = interface_addresses();
  if (!addresses) return "";
  for (const InterfaceAddress& each : *addresses)
    if (each.host == host) return each.interface;
  return "";
}

}  // namespace muster::probe
