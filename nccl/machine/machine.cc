#include "nccl/machine/machine.h"

#include <algorithm>

#include "base/interfaces.h"
#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

MachineMaker read_maker(const Files& files) {
  const auto dmi = [&files](const char* name) {
    return one_line(read_attribute(files, std::string("/sys/class/dmi/id/") + name).value_or(""));
  };
  return {dmi("sys_vendor"), dmi("product_name"), dmi("chassis_asset_tag")};
}

std::string read_host_name(const Files& files) {
  auto name = read_attribute(files, "/proc/sys/kernel/hostname");
  if (!name || name->empty()) name = read_attribute(files, "/etc/hostname");
  return name.value_or("");
}

// The first line of /etc/hosts with the name counts, as for the C library.
std::string hosts_entry(const Files& files, const std::string& name) {
  const auto hosts = files.read("/etc/hosts");
  if (!hosts || name.empty()) return "";
  for (const std::string_view line : split(*hosts, '\n')) {
    const auto words = words_of(line.substr(0, line.find('#')));
    if (words.size() > 1 && std::ranges::find(words.begin() + 1, words.end(), name) != words.end())
      return std::string(words[0]);
  }
  return "";
}

std::optional<std::vector<InterfaceAddress>> recorded_addresses(const Files& files) {
  const auto text = files.read(kRecordedAddresses);
  if (!text) return std::nullopt;
  std::vector<InterfaceAddress> addresses;
  for (const std::string_view line : split(*text, '\n')) {
    const auto words = words_of(line);
    if (words.size() != 2 || addresses.size() == kMaxRecordedAddresses) continue;
    addresses.push_back({.interface = std::string(words[0]), .host = std::string(words[1])});
  }
  return addresses;
}

std::vector<NetworkInterface> read_recorded_interfaces(const Files& files) {
  auto interfaces = read_network_interfaces(files);
  const auto addresses = recorded_addresses(files);
  return addresses ? with_addresses(std::move(interfaces), *addresses)
                   : with_recorded_addresses(std::move(interfaces), files);
}

std::vector<NetworkInterface> read_interfaces(const MachineView& view, bool all) {
  const Files& files = view.files;
  if (view.source == MachineSource::kRecorded) return read_recorded_interfaces(files);
  const auto addresses = interface_addresses();
  if (!addresses) return read_network_interfaces(files);
  if (all) return with_addresses(read_network_interfaces(files), *addresses);
  // Of those without the default route no more is wanted than that they are there: each costs some
  // forty system calls, and a node may have hundreds.
  const std::string leading = default_route(files);
  auto interfaces =
      leading.empty() ? std::vector<NetworkInterface>() : read_network_interfaces(files, {leading});
  for (const InterfaceAddress& address : *addresses) {
    if (find_interface(interfaces, address.interface) != nullptr) continue;
    NetworkInterface one;
    one.name = address.interface;
    one.kind = address.is_loopback ? InterfaceKind::kLoopback : InterfaceKind::kVirtual;
    one.is_running = address.is_up;
    interfaces.push_back(std::move(one));
  }
  return with_addresses(std::move(interfaces), *addresses);
}

}  // namespace

Machine read_machine(const MachineView& view) {
  const Files& files = view.files;
  Machine machine;
  machine.accelerators = discover_accelerators(files);
  machine.rdma = read_rdma_devices(files);
  machine.host_name = read_host_name(files);
  machine.own_addresses = hosts_entry(files, machine.host_name);
  const bool is_empty = machine.rdma.empty() && usable_accelerators(machine).empty();
  const bool is_lost = machine.own_addresses.starts_with("127.") || machine.own_addresses == "::1";
  const bool is_all = view.detail == MachineDetail::kAll || !is_empty;
  // A node that takes its own name for loopback must be told an interface in any case.
  if (is_all || is_lost) machine.interfaces = read_interfaces(view, is_all);
  if (!is_all) return machine;
  machine.maker = read_maker(files);
  for (const Accelerator& accelerator : machine.accelerators) {
    if (accelerator.pci_address.empty()) continue;
    if (auto function = read_pci_function(files, accelerator.pci_address))
      machine.accelerator_functions.push_back(std::move(*function));
  }
  machine.network_cards = read_network_cards(files);
  if (auto channels = files.list("/dev/nvidia-caps-imex-channels"))
    machine.imex_channels = std::move(*channels);
  const auto slingshot = files.list("/sys/class/cxi");
  machine.has_slingshot = slingshot && !slingshot->empty();
  return machine;
}

std::vector<Accelerator> usable_accelerators(const Machine& machine) {
  std::vector<Accelerator> usable;
  std::ranges::copy_if(machine.accelerators, std::back_inserter(usable),
                       [](const Accelerator& a) { return a.accessible && !a.integrated; });
  return usable;
}

const PciFunction* function_of(const Machine& machine, const Accelerator& accelerator) {
  const auto found = std::ranges::find(machine.accelerator_functions, accelerator.pci_address,
                                       &PciFunction::address);
  return found == machine.accelerator_functions.end() ? nullptr : &*found;
}

std::optional<AcceleratorKind> accelerator_kind(const Machine& machine) {
  const auto usable = usable_accelerators(machine);
  if (usable.empty()) return std::nullopt;
  return usable.front().kind;
}

}  // namespace muster::nccl
