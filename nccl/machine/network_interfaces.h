// NetworkInterfaces: the interfaces of this network namespace with what decides which of them a
// library takes: kind, carrier, speed, card, addresses, default route. From files, so that recorded
// machines can be read; on a live one the kernel is asked for the addresses (with_addresses()).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/interfaces.h"

namespace muster::nccl {

inline constexpr size_t kMaxNetworkInterfaces = 1024;  ///< read; a node of Kubernetes has some 250
inline constexpr size_t kMaxRouteLines = 4096;         ///< read of /proc/net/route and its kin

enum class InterfaceKind {
  kLoopback,
  kCard,     ///< of a device: PCI, virtio, USB
  kVirtual,  ///< veth, macvlan, ipvlan: what pods get, and the ends of those of others
  kBridge,
  kBond,
  kVlan,
  kTunnel,  ///< tun, tap, vxlan, WireGuard
  kIpoib,   ///< IP over InfiniBand
};
/// "card", "virtual", "bridge".
[[nodiscard]] std::string_view to_string(InterfaceKind kind);

struct NetworkInterface {
  std::string name;
  int index = 0;  ///< ifindex, by which the kernel lists them
  InterfaceKind kind = InterfaceKind::kVirtual;
  bool is_running = false;             ///< IFF_RUNNING: up, with a carrier
  std::optional<int> speed_mbits;      ///< as its driver says; veth always says 10000
  std::optional<int> mtu;              ///< bytes
  std::string pci_address;             ///< of its card; "" = none, or not of PCI
  int vendor = 0;                      ///< of its card, as PciFunction::vendor; 0 = unknown
  std::string master;                  ///< the bond or bridge that it belongs to; "" = none
  std::vector<std::string> addresses;  ///< numeric, IPv4 first
  bool has_default_route = false;      ///< of IPv4, or without one of IPv6
};

/// By index, as the kernel lists them, without their addresses. What cannot be read is left
/// unknown. Source: Documentation/ABI/testing/sysfs-class-net; /proc/net/route.
[[nodiscard]] std::vector<NetworkInterface> read_network_interfaces(const Files& files);
/// Of these names alone.
[[nodiscard]] std::vector<NetworkInterface> read_network_interfaces(
    const Files& files, const std::vector<std::string>& names);

/// The interface of the default route: of IPv4, or without one of IPv6; "" = there is none.
[[nodiscard]] std::string default_route(const Files& files);

/// With the addresses of a recorded machine: /proc/net/{route,fib_trie,if_inet6}. The IPv4 address
/// of a network of one address stands in no file: it is missing.
[[nodiscard]] std::vector<NetworkInterface> with_recorded_addresses(
    std::vector<NetworkInterface> interfaces, const Files& files);
/// With the addresses that the kernel lists. Pure.
[[nodiscard]] std::vector<NetworkInterface> with_addresses(
    std::vector<NetworkInterface> interfaces, const std::vector<InterfaceAddress>& addresses);

/// Null: no interface of this name.
[[nodiscard]] const NetworkInterface* find_interface(
    const std::vector<NetworkInterface>& interfaces, std::string_view name);

/// One line of /proc/net/route.
struct Route {
  std::string interface;
  uint32_t network = 0;  ///< host byte order
  uint32_t mask = 0;
  bool is_up = false;
  int metric = 0;  ///< the lowest counts
};
/// IPv4 routes; malformed lines are skipped.
[[nodiscard]] std::vector<Route> parse_routes(std::string_view proc_net_route);

/// The interface of the default route of IPv6 (/proc/net/ipv6_route) with the lowest metric; "" =
/// there is none.
[[nodiscard]] std::string parse_ipv6_default(std::string_view ipv6_route);

/// The addresses of this machine that /proc/net/fib_trie calls local, without 127/8; host byte
/// order, each once.
[[nodiscard]] std::vector<uint32_t> parse_local_addresses(std::string_view fib_trie);

}  // namespace muster::nccl
