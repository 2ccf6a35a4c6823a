#include "nccl/plan/interface_choice.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "nccl/plan/name_list.h"

namespace muster::nccl {
namespace {

bool is_usable_by_nccl(const NetworkInterface& interface) {
  const auto counts = [](const std::string& address) { return address != "::1"; };
  return interface.is_running && std::ranges::any_of(interface.addresses, counts);
}

// Peers never come by these, whatever routes say.
bool can_be_control(const NetworkInterface& interface) {
  switch (interface.kind) {
    case InterfaceKind::kLoopback:
    case InterfaceKind::kTunnel:
    case InterfaceKind::kIpoib:
      return false;
    case InterfaceKind::kBridge:
      return interface.has_default_route;
    case InterfaceKind::kCard:
    case InterfaceKind::kVirtual:
    case InterfaceKind::kBond:
    case InterfaceKind::kVlan:
      return interface.is_running;
  }
  return false;
}

bool is_link_local_text(std::string_view address) {
  return address.starts_with("169.254.") || to_lower(address.substr(0, 4)) == "fe80";
}

bool has_routable_address(const NetworkInterface& interface) {
  return std::ranges::any_of(interface.addresses, [](const std::string& address) {
    return !is_link_local_text(address) && !is_loopback_text(address);
  });
}

std::vector<std::string> names_if(const Machine& machine, const auto& condition) {
  std::vector<std::string> names;
  for (const NetworkInterface& interface : machine.interfaces) {
    if (names.size() < kMaxInterfaceNames && is_usable_by_nccl(interface) &&
        condition(interface.name))
      names.push_back(interface.name);
  }
  return names;
}

}  // namespace

bool is_loopback_text(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

ControlInterface reached_interface(std::string_view name) {
  if (name.empty()) return {};
  return {std::string(name), "the other nodes reach this one by it", "route to node rank 0", true};
}

ControlInterface choose_control_interface(const Machine& machine) {
  const auto& interfaces = machine.interfaces;
  if (!machine.own_addresses.empty() && !is_loopback_text(machine.own_addresses)) {
    const auto own = std::ranges::find_if(interfaces, [&machine](const NetworkInterface& one) {
      return can_be_control(one) &&
             std::ranges::find(one.addresses, machine.own_addresses) != one.addresses.end();
    });
    if (own != interfaces.end()) {
      return {own->name, "it has the address of this node's name, " + machine.own_addresses,
              "/etc/hosts", false};
    }
  }
  // Where addresses stand in no file, none is known of any interface.
  const bool is_known = std::ranges::any_of(interfaces, has_routable_address);
  const auto routed =
      std::ranges::find_if(interfaces, [is_known](const NetworkInterface& interface) {
        return interface.has_default_route && can_be_control(interface) &&
               (!is_known || has_routable_address(interface));
      });
  if (routed != interfaces.end())
    return {routed->name, "it has the default route", "/proc/net/route", false};
  std::vector<const NetworkInterface*> rest;
  for (const NetworkInterface& interface : interfaces) {
    if (can_be_control(interface) && has_routable_address(interface)) rest.push_back(&interface);
  }
  if (rest.size() == 1)
    return {rest.front()->name, "no other interface has an address", "/sys/class/net", false};
  return {};
}

std::vector<std::string> default_socket_interfaces(const Machine& machine) {
  constexpr std::array<std::string_view, 3> kLast = {"docker", "lo", "virbr"};
  const auto begins_with = [](std::string_view prefix) {
    return [prefix](const std::string& name) { return name.starts_with(prefix); };
  };
  if (auto ib = names_if(machine, begins_with("ib")); !ib.empty()) return ib;
  const auto is_first = [&kLast](const std::string& name) {
    return std::ranges::none_of(kLast, [&name](auto last) { return name.starts_with(last); });
  };
  if (auto first = names_if(machine, is_first); !first.empty()) return first;
  for (const std::string_view prefix : kLast) {
    if (auto last = names_if(machine, begins_with(prefix)); !last.empty()) return last;
  }
  return {};
}

std::vector<std::string> chosen_socket_interfaces(const Machine& machine, std::string_view value) {
  const NameList list = NameList::parse(value, kMaxInterfaceNames);
  return names_if(machine, [&list](const std::string& name) { return list.chooses(name); });
}

std::string describe_interfaces(const Machine& machine) {
  constexpr size_t kShown = 8;
  std::vector<std::string> parts;
  for (const NetworkInterface& interface : machine.interfaces) {
    if (!is_usable_by_nccl(interface)) continue;
    if (parts.size() == kShown) {
      parts.emplace_back("...");
      break;
    }
    parts.push_back(interface.addresses.empty() ? interface.name
                                                : interface.name + " " + interface.addresses[0]);
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

}  // namespace muster::nccl
