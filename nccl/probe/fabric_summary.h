// FabricDevice: one way to the network that libfabric offers. It lists each several times, once for
// every kind of endpoint and protocol. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::probe {

struct FabricDevice {
  std::string provider;  ///< "tcp", "tcp;ofi_rxm", "efa"
  std::string domain;    ///< of tcp the interface; else the device, as "rdmap79s0-rdm"
  std::string fabric;    ///< of tcp the network, as "10.0.0.0/24"
  std::optional<uint64_t> speed_bits_per_s = std::nullopt;
  std::optional<std::string> pci = std::nullopt;  ///< "0000:00:05.0"
  friend auto operator<=>(const FabricDevice&, const FabricDevice&) = default;
};

/// One for each provider, domain and fabric, sorted by these. What only some of the entries tell,
/// the speed for one, is taken from the first that does.
[[nodiscard]] std::vector<FabricDevice> without_repetition(std::vector<FabricDevice> devices);

}  // namespace muster::probe
