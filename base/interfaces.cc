#include "base/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>

#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxHostNameBytes = 256;  // HOST_NAME_MAX is 64 on Linux

std::optional<InterfaceAddress> from_entry(const ifaddrs& entry) {
  if (entry.ifa_addr == nullptr) return std::nullopt;  // an interface without any address
  InterfaceAddress found;
  char text[INET6_ADDRSTRLEN] = "";
  if (entry.ifa_addr->sa_family == AF_INET) {
    const in_addr& v4 = reinterpret_cast<const sockaddr_in*>(entry.ifa_addr)->sin_addr;
    inet_ntop(AF_INET, &v4, text, sizeof text);
    found.is_link_local = (ntohl(v4.s_addr) >> 16) == 0xA9FE;
    if (entry.ifa_netmask != nullptr) {
      const auto* mask = reinterpret_cast<const sockaddr_in*>(entry.ifa_netmask);
      found.prefix_bits = std::popcount(mask->sin_addr.s_addr);
    }
  } else if (entry.ifa_addr->sa_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(entry.ifa_addr)->sin6_addr;
    inet_ntop(AF_INET6, &v6, text, sizeof text);
    found.is_link_local = IN6_IS_ADDR_LINKLOCAL(&v6);
  } else {
    return std::nullopt;  // AF_PACKET: statistics
  }
  found.interface = entry.ifa_name;
  found.host = text;
  found.is_up = (entry.ifa_flags & IFF_UP) != 0 && (entry.ifa_flags & IFF_RUNNING) != 0;
  found.is_loopback = (entry.ifa_flags & IFF_LOOPBACK) != 0;
  return found;
}

}  // namespace

Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return os_error("getifaddrs");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (auto address = from_entry(*entry)) addresses.push_back(std::move(*address));
  }
  return addresses;
}

Result<std::string> host_name() {
  char name[kMaxHostNameBytes] = "";
  if (gethostname(name, sizeof name - 1) != 0) return os_error("gethostname");
  return std::string(name);
}

std::string full_host_name(std::string_view etc_hosts, const std::string& host_name) {
  for (std::string_view line : split(etc_hosts, '\n')) {
    line = line.substr(0, line.find('#'));
    const std::vector<std::string_view> words = words_of(line);
    if (std::find(words.begin(), words.end(), host_name) == words.end()) continue;
    for (const std::string_view word : words) {
      if (word.starts_with(host_name + ".")) return std::string(word);
    }
  }
  return host_name;
}

std::string full_host_name(const Files& files, const std::string& host_name) {
  const auto etc_hosts = files.read("/etc/hosts");
  return etc_hosts ? full_host_name(*etc_hosts, host_name) : host_name;
}

}  // namespace muster
