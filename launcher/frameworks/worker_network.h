// What the agent found out of the network of a round, for the libraries of the workers: left to
// themselves these ask the machine for its own name, which may mean 127.0.1.1 to it, or nothing.
#pragma once

#include <string>
#include <vector>

#include "base/interfaces.h"

namespace muster::launcher {

struct WorkerNetwork {
  std::string master_name;  ///< means the address of node rank 0 here; "" = the address is used
  std::string interface;    ///< by which the other nodes reach this one; "" = not to be told
  bool is_found = false;    ///< there is a round, and it was looked at
};

/// The interface of `host`, an address of this machine, if a library that is told its name takes
/// just that address: the first one of the interface, which is not loopback. Else "". Pure.
[[nodiscard]] std::string interface_of(const std::vector<InterfaceAddress>& addresses,
                                       const std::string& host);

}  // namespace muster::launcher
