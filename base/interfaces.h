// The addresses of this machine's network interfaces, as the kernel lists them now. Which of them
// peers should use is decided elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace muster {

/// One address of one interface; an interface with several addresses is listed several times.
struct InterfaceAddress {
  std::string interface;  ///< "eth0"
  std::string host;       ///< numeric, as Address::host: no brackets, no scope ("%eth0")
  bool is_up = false;     ///< IFF_UP and IFF_RUNNING: has a carrier
  bool is_loopback = false;
  bool is_link_local = false;  ///< 169.254/16 or fe80::/10: means nothing without its interface
  int prefix_bits = 0;         ///< of its network; 0 = unknown, and for IPv6
  friend bool operator==(const InterfaceAddress&, const InterfaceAddress&) = default;
};

/// IPv4 and IPv6 addresses in the kernel's order. kOs: getifaddrs (netlink) refused.
Result<std::vector<InterfaceAddress>> interface_addresses();

/// This machine's host name as the kernel has it, not resolved: short or full, as it was set. kOs.
Result<std::string> host_name();

/// The name with dots that /etc/hosts gives to `host_name` beside an address, as Kubernetes writes
/// it for pods with a subdomain; else `host_name`. Pure.
[[nodiscard]] std::string full_host_name(std::string_view etc_hosts, const std::string& host_name);
/// The same, by the /etc/hosts of `files`; one that cannot be read gives no name.
[[nodiscard]] std::string full_host_name(const Files& files, const std::string& host_name);

}  // namespace muster
