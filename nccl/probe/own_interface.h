// Which interface of this machine has an address.
#pragma once

#include <string>

namespace muster::probe {

/// "eth0"; "" = none has it, or the kernel does not tell. `host`: numeric.
[[nodiscard]] std::string own_interface(const std::string& host);

}  // namespace muster::probe
