#include "nccl/machine/network_interfaces.h"

#include <arpa/inet.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/pci.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kClass = "/sys/class/net";
constexpr int64_t kTypeIpoib = 32;      // ARPHRD_INFINIBAND
constexpr int64_t kTypeTunnel = 65534;  // ARPHRD_NONE
constexpr int64_t kTypeLoopback = 772;  // ARPHRD_LOOPBACK
constexpr int64_t kUp = 0x1;            // IFF_UP

std::string file_of(const std::string& name, std::string_view file) {
  return std::string(kClass) + "/" + name + "/" + std::string(file);
}

std::optional<uint32_t> parse_hex32(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc{} || end != text.data() + text.size() || text.size() != 8)
    return std::nullopt;
  return value;
}

std::string dotted(uint32_t address) {
  return fmt::format("{}.{}.{}.{}", address >> 24, address >> 16 & 255, address >> 8 & 255,
                     address & 255);
}

std::optional<uint32_t> parse_dotted(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  uint32_t address = 0;
  for (const std::string_view part : parts) {
    const auto number = number_after(part, "");
    if (!number || *number > 255) return std::nullopt;
    address = address << 8 | static_cast<uint32_t>(*number);
  }
  return address;
}

// What has a device is a card whatever its name; of the others the driver tells the kind of most.
InterfaceKind kind_of(const Files& files, const std::string& name, bool has_device) {
  const auto type = read_integer(files, file_of(name, "type")).value_or(1);
  if (type == kTypeLoopback || name == "lo") return InterfaceKind::kLoopback;
  if (type == kTypeIpoib) return InterfaceKind::kIpoib;
  if (has_device) return InterfaceKind::kCard;
  if (files.is_directory(file_of(name, "bonding"))) return InterfaceKind::kBond;
  if (files.is_directory(file_of(name, "bridge"))) return InterfaceKind::kBridge;
  if (files.exists(file_of(name, "tun_flags")) || type == kTypeTunnel)
    return InterfaceKind::kTunnel;
  const auto uevent = files.read(file_of(name, "uevent"), kMaxAttributeBytes);
  const auto devtype = uevent ? std::string_view(*uevent) : std::string_view();
  for (const auto& [word, kind] : std::initializer_list<std::pair<std::string_view, InterfaceKind>>{
           {"DEVTYPE=bond\n", InterfaceKind::kBond},
           {"DEVTYPE=bridge\n", InterfaceKind::kBridge},
           {"DEVTYPE=vlan\n", InterfaceKind::kVlan},
           {"DEVTYPE=vxlan\n", InterfaceKind::kTunnel},
           {"DEVTYPE=geneve\n", InterfaceKind::kTunnel},
           {"DEVTYPE=wireguard\n", InterfaceKind::kTunnel}}) {
    if (devtype.find(word) != std::string_view::npos) return kind;
  }
  return InterfaceKind::kVirtual;
}

// IFF_RUNNING is no bit that sysfs shows: the kernel makes it of these two (dev_get_flags()).
bool is_running(const Files& files, const std::string& name) {
  const auto text = read_attribute(files, file_of(name, "flags"));
  const auto flags = text ? parse_hexadecimal(*text) : std::nullopt;
  if (flags && (*flags & kUp) == 0) return false;
  const std::string state = read_attribute(files, file_of(name, "operstate")).value_or("");
  if (state.empty()) return read_integer(files, file_of(name, "carrier")).value_or(0) == 1;
  return state == "up" || state == "unknown";
}

std::optional<int> read_positive(const Files& files, const std::string& path) {
  const auto value = read_integer(files, path);
  if (!value || *value <= 0 || *value > 10'000'000) return std::nullopt;
  return static_cast<int>(*value);
}

NetworkInterface read_interface(const Files& files, const std::string& name) {
  NetworkInterface interface;
  interface.name = name;
  interface.index = read_positive(files, file_of(name, "ifindex")).value_or(0);
  const std::string device = linked_name(files, file_of(name, "device"));
  interface.kind = kind_of(files, name, !device.empty());
  interface.is_running = is_running(files, name);
  interface.speed_mbits = read_positive(files, file_of(name, "speed"));
  interface.mtu = read_positive(files, file_of(name, "mtu"));
  interface.pci_address = normalize_pci_address(device).value_or("");
  const auto vendor = read_attribute(files, file_of(name, "device/vendor"));
  if (vendor) interface.vendor = static_cast<int>(parse_hexadecimal(*vendor).value_or(0) & 0xffff);
  interface.master = linked_name(files, file_of(name, "master"));
  return interface;
}

NetworkInterface* find_mutable(std::vector<NetworkInterface>& interfaces, std::string_view name) {
  const auto found = std::ranges::find(interfaces, name, &NetworkInterface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

// The interface of the narrowest network that an address is in.
const Route* route_of(const std::vector<Route>& routes, uint32_t address) {
  const Route* best = nullptr;
  for (const Route& route : routes) {
    const bool matches = route.mask != 0 && (address & route.mask) == route.network;
    if (matches && (best == nullptr || route.mask > best->mask)) best = &route;
  }
  return best;
}

std::vector<Route> read_routes(const Files& files) {
  const auto text = files.read("/proc/net/route");
  return parse_routes(text ? *text : "");
}

void add_ipv4(const Files& files, std::vector<NetworkInterface>& interfaces) {
  const auto routes = read_routes(files);
  const auto trie = files.read("/proc/net/fib_trie");
  for (const uint32_t address : parse_local_addresses(trie ? *trie : "")) {
    const Route* route = route_of(routes, address);
    NetworkInterface* interface =
        route == nullptr ? nullptr : find_mutable(interfaces, route->interface);
    if (interface != nullptr) interface->addresses.push_back(dotted(address));
  }
  if (NetworkInterface* loopback = find_mutable(interfaces, "lo"); loopback != nullptr && trie)
    loopback->addresses.emplace_back("127.0.0.1");
}

// "fe80000000000000a288c2fffe3b506a" as people write it. "": it is none.
std::string ipv6_text(std::string_view digits) {
  in6_addr address{};
  for (size_t i = 0; i < sizeof address.s6_addr; ++i) {
    const std::string_view pair = digits.substr(2 * i, 2);
    const auto [end, error] =
        std::from_chars(pair.data(), pair.data() + pair.size(), address.s6_addr[i], 16);
    if (error != std::errc{} || end != pair.data() + pair.size()) return "";
  }
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(AF_INET6, &address, text, sizeof text) == nullptr ? "" : text;
}

void add_ipv6(const Files& files, std::vector<NetworkInterface>& interfaces) {
  constexpr size_t kDigits = 32;
  constexpr size_t kFields = 6;
  const auto text = files.read("/proc/net/if_inet6");
  if (!text) return;
  size_t lines = 0;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = words_of(line);
    if (words.size() != kFields || words[0].size() != kDigits) continue;
    if (++lines > kMaxRouteLines) return;
    NetworkInterface* interface = find_mutable(interfaces, words[5]);
    std::string address = ipv6_text(words[0]);
    if (interface != nullptr && !address.empty())
      interface->addresses.push_back(std::move(address));
  }
}

}  // namespace

std::string_view to_string(InterfaceKind kind) {
  switch (kind) {
    case InterfaceKind::kLoopback:
      return "loopback";
    case InterfaceKind::kCard:
      return "card";
    case InterfaceKind::kVirtual:
      return "virtual";
    case InterfaceKind::kBridge:
      return "bridge";
    case InterfaceKind::kBond:
      return "bond";
    case InterfaceKind::kVlan:
      return "vlan";
    case InterfaceKind::kTunnel:
      return "tunnel";
    case InterfaceKind::kIpoib:
      return "IP over InfiniBand";
  }
  return "?";
}

std::vector<NetworkInterface> read_network_interfaces(const Files& files) {
  const auto names = files.list(std::string(kClass));
  return names ? read_network_interfaces(files, *names) : std::vector<NetworkInterface>();
}

std::vector<NetworkInterface> read_network_interfaces(const Files& files,
                                                      const std::vector<std::string>& names) {
  std::vector<NetworkInterface> interfaces;
  for (const std::string& name : names) {
    if (interfaces.size() == kMaxNetworkInterfaces) break;
    // A file here is bonding_masters.
    if (files.is_directory(std::string(kClass) + "/" + name))
      interfaces.push_back(read_interface(files, name));
  }
  std::ranges::stable_sort(interfaces, {}, &NetworkInterface::index);
  NetworkInterface* leading = find_mutable(interfaces, default_route(files));
  if (leading != nullptr) leading->has_default_route = true;
  return interfaces;
}

std::string default_route(const Files& files) {
  const Route* best = nullptr;
  const auto routes = read_routes(files);
  for (const Route& route : routes) {
    const bool is_default = route.mask == 0 && route.network == 0 && route.is_up;
    if (is_default && (best == nullptr || route.metric < best->metric)) best = &route;
  }
  if (best != nullptr) return best->interface;
  const auto text = files.read("/proc/net/ipv6_route");
  return text ? parse_ipv6_default(*text) : "";
}

std::vector<NetworkInterface> with_recorded_addresses(std::vector<NetworkInterface> interfaces,
                                                      const Files& files) {
  add_ipv4(files, interfaces);
  add_ipv6(files, interfaces);
  return interfaces;
}

std::vector<NetworkInterface> with_addresses(std::vector<NetworkInterface> interfaces,
                                             const std::vector<InterfaceAddress>& addresses) {
  for (NetworkInterface& interface : interfaces) {
    interface.addresses.clear();
    for (const bool ipv6 : {false, true}) {
      for (const InterfaceAddress& address : addresses) {
        const bool is_ipv6 = address.host.find(':') != std::string::npos;
        if (address.interface == interface.name && is_ipv6 == ipv6)
          interface.addresses.push_back(address.host);
      }
    }
  }
  return interfaces;
}

const NetworkInterface* find_interface(const std::vector<NetworkInterface>& interfaces,
                                       std::string_view name) {
  const auto found = std::ranges::find(interfaces, name, &NetworkInterface::name);
  return found == interfaces.end() ? nullptr : &*found;
}

std::vector<Route> parse_routes(std::string_view proc_net_route) {
  constexpr size_t kFields = 8;
  std::vector<Route> routes;
  for (const std::string_view line : split(proc_net_route, '\n')) {
    const auto words = words_of(line);
    if (words.size() < kFields) continue;
    const auto network = parse_hex32(words[1]);
    const auto mask = parse_hex32(words[7]);
    uint32_t flags = 0;
    const auto [end, error] =
        std::from_chars(words[3].data(), words[3].data() + words[3].size(), flags, 16);
    if (!network || !mask || error != std::errc{} || end != words[3].data() + words[3].size())
      continue;
    if (routes.size() == kMaxRouteLines) break;
    // The kernel prints the bytes of the network order as a number of this machine.
    routes.push_back({std::string(words[0]), __builtin_bswap32(*network), __builtin_bswap32(*mask),
                      (flags & 1U) != 0, number_after(words[6], "").value_or(0)});
  }
  return routes;
}

std::string parse_ipv6_default(std::string_view ipv6_route) {
  constexpr size_t kFields = 10;
  constexpr uint32_t kReject = 0x200;  // RTF_REJECT: the kernel's own last entry
  const std::string any(32, '0');
  std::string best;
  uint32_t lowest = 0;
  size_t lines = 0;
  for (const std::string_view line : split(ipv6_route, '\n')) {
    if (++lines > kMaxRouteLines) break;
    const auto words = words_of(line);
    if (words.size() != kFields || words[0] != any || words[1] != "00") continue;
    const auto metric = parse_hex32(words[5]);
    const auto flags = parse_hex32(words[8]);
    if (!metric || !flags || (*flags & kReject) != 0 || words[9] == "lo") continue;
    if (!best.empty() && *metric >= lowest) continue;
    best = words[9];
    lowest = *metric;
  }
  return best;
}

std::vector<uint32_t> parse_local_addresses(std::string_view fib_trie) {
  std::vector<uint32_t> addresses;
  std::optional<uint32_t> last;
  size_t lines = 0;
  for (const std::string_view raw : split(fib_trie, '\n')) {
    if (++lines > 16 * kMaxRouteLines) break;
    const auto words = words_of(raw);
    if (words.size() == 2 && words[0] == "|--") {
      last = parse_dotted(words[1]);
    } else if (last && words.size() == 3 && words[0] == "/32" && words[2] == "LOCAL") {
      const bool loopback = *last >> 24 == 127;
      const bool known = std::ranges::find(addresses, *last) != addresses.end();
      if (!loopback && !known && addresses.size() < kMaxRouteLines) addresses.push_back(*last);
    }
  }
  return addresses;
}

}  // namespace muster::nccl
