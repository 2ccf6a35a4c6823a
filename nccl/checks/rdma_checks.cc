#include "nccl/checks/rdma_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "nccl/checks/library_checks.h"
#include "nccl/plan/gid_choice.h"

namespace muster::nccl {
namespace {

constexpr size_t kShownNames = 8;

std::string shown(const std::vector<std::string>& names) {
  const std::span<const std::string> first(names.data(), std::min(names.size(), kShownNames));
  return join(first, ", ") + (names.size() > kShownNames ? ", ..." : "");
}

// One model at one kind of link: devices that should be alike.
using Model = std::tuple<int, int, LinkLayer>;

Model model_of(const RdmaDevice& device, const RdmaPort& port) {
  return {device.pci ? device.pci->vendor : 0, device.pci ? device.pci->device : 0,
          port.link_layer};
}

std::map<Model, double> fastest_of(const Machine& machine) {
  std::map<Model, double> fastest;
  for (const RdmaDevice& device : machine.rdma) {
    for (const RdmaPort& port : device.ports) {
      double& best = fastest[model_of(device, port)];
      if (port.is_active()) best = std::max(best, port.gbits);
    }
  }
  return fastest;
}

// The machine with every port up and as fast as the fastest of its model.
Machine healthy_machine(const CheckQuestion& question) {
  Machine healthy = question.machine();
  const auto fastest = fastest_of(healthy);
  for (RdmaDevice& device : healthy.rdma) {
    for (RdmaPort& port : device.ports) {
      port.state = "ACTIVE";
      const double best = fastest.at(model_of(device, port));
      if (best > 0) port.gbits = best;
    }
  }
  return healthy;
}

// Names of the devices that the job would use then.
std::set<std::string> wanted_devices(const CheckQuestion& question) {
  const Machine healthy = healthy_machine(question);
  std::set<std::string> names;
  for (const RdmaDevice& device : healthy.rdma) {
    if (device.is_efa()) names.insert(device.name);
  }
  const auto choice = choose_hcas(healthy);
  const size_t count = choice.used.size();
  // A number that does not fit the GPUs shows that some belong to another network.
  const bool fits =
      question.gpus > 0 && count > 0 && (count % question.gpus == 0 || question.gpus % count == 0);
  for (const RdmaDevice* device : choice.used) {
    if (fits) names.insert(device->name);
  }
  return names;
}

// Whether the card's other function is what the job uses: many cards of two ports have one cable.
bool has_used_sibling(const CheckQuestion& question, const RdmaDevice& device) {
  return std::ranges::any_of(question.hcas.used, [&device](const RdmaDevice* used) {
    return used != &device && used->pci && device.pci &&
           distance(*used->pci, *device.pci) == PciDistance::kSameCard;
  });
}

std::string why_down(const RdmaDevice& device, const RdmaPort& port) {
  const std::string place = fmt::format("{} port {}", device.name, port.number);
  if (port.state == "INIT" || port.state == "ARMED") {
    return fmt::format("{} is {}: the subnet manager has not configured it", place, port.state);
  }
  if (port.physical_state == "Disabled")
    return fmt::format("{} is {}: it was switched off", place, port.state);
  return fmt::format("{} is {}{}: no cable, or nobody at its other end", place, port.state,
                     port.physical_state.empty() ? "" : " (" + port.physical_state + ")");
}

std::string remedy_for(const RdmaPort& port) {
  if (port.state == "INIT" || port.state == "ARMED")
    return "start the subnet manager (opensm), or ask who runs the fabric";
  return "check cable, transceiver and switch port, or drain the node";
}

struct ProductRow {
  std::string_view product;
  size_t devices;
};
// EFA devices of AWS's instances (EC2 user guide, "EFA"): all of them, as a whole node has.
constexpr ProductRow kEfaDevices[] = {
    {"p4d.24xlarge", 4},  {"p4de.24xlarge", 4},  {"p5.48xlarge", 32},
    {"p5e.48xlarge", 32}, {"p5en.48xlarge", 16}, {"p6-b200.48xlarge", 8},
};

struct DriverRow {
  std::string_view kernel;    // of the PCI function
  std::string_view provider;  // NAME of /etc/libibverbs.d/NAME.driver
};
constexpr DriverRow kDrivers[] = {
    {"mlx5_core", "mlx5"}, {"mlx4_core", "mlx4"}, {"efa", "efa"},     {"bnxt_en", "bnxt_re"},
    {"ionic", "ionic"},    {"ice", "irdma"},      {"irdma", "irdma"}, {"mana", "mana"},
};

// GPUs that have no device below a switch with them, if most others have one; their PCI addresses.
std::vector<std::string> gpus_without_card(const CheckQuestion& question) {
  std::vector<std::string> without;
  size_t with = 0;
  for (const Accelerator& accelerator : usable_accelerators(question.machine())) {
    const PciFunction* gpu = function_of(question.machine(), accelerator);
    if (gpu == nullptr) continue;
    // Whether it is up is another question.
    const auto& devices = question.machine().rdma;
    const bool has_near = std::ranges::any_of(devices, [gpu](const RdmaDevice& device) {
      return device.has_device_node && device.pci &&
             distance(*gpu, *device.pci) <= PciDistance::kPxb;
    });
    if (has_near) {
      ++with;
    } else {
      without.push_back(gpu->address);
    }
  }
  return without.size() < with ? without : std::vector<std::string>();
}

}  // namespace

Verdicts check_no_uverbs(const CheckQuestion& question) {
  std::map<std::string, size_t> granted;
  std::map<std::string, std::vector<std::string>> refused;
  for (const RdmaDevice& device : question.machine().rdma) {
    if (!std::ranges::any_of(device.ports, &RdmaPort::is_active)) continue;
    if (device.has_device_node) {
      ++granted[device.driver];
    } else {
      refused[device.driver].push_back(device.name);
    }
  }
  Verdicts verdicts;
  for (const auto& [driver, names] : refused) {
    const size_t count = granted[driver];
    // All of them is the plan's to say; others' devices are in every pod's sysfs.
    if (count == 0) continue;
    const bool too_few = count < question.gpus;
    verdicts.push_back(
        {too_few ? Severity::kWarning : Severity::kInfo,
         fmt::format("{} {} visible here and not granted (no device node in /dev/infiniband)",
                     shown(names), names.size() == 1 ? "is" : "are"),
         too_few ? fmt::format("request as many devices as GPUs ({}) in the pod", question.gpus)
                 : ""});
  }
  return verdicts;
}

Verdicts check_rdma_cm_missing(const CheckQuestion& question) {
  const auto ready = ready_rdma_devices(question.machine());
  const bool has_verbs =
      std::ranges::any_of(ready, [](const RdmaDevice* device) { return !device->is_efa(); });
  if (!has_verbs || question.node.has_rdma_cm) return {};
  return {{Severity::kInfo,
           "/dev/infiniband/rdma_cm is not in this container: UCX and libfabric need it for some "
           "connections, NCCL does not",
           "let the device plugin mount it"}};
}

Verdicts check_port_state(const CheckQuestion& question) {
  const auto wanted = wanted_devices(question);
  Verdicts verdicts;
  for (const RdmaDevice& device : question.machine().rdma) {
    const bool any_up = std::ranges::any_of(device.ports, &RdmaPort::is_active);
    if (!device.has_device_node || any_up || device.ports.empty()) continue;
    const RdmaPort& port = device.ports.front();
    if (port.state.empty()) continue;
    const bool is_error =
        question.gpus > 0 && wanted.contains(device.name) && !has_used_sibling(question, device);
    verdicts.push_back({is_error ? Severity::kError : Severity::kInfo, why_down(device, port),
                        is_error ? remedy_for(port) : ""});
  }
  return verdicts;
}

Verdicts check_port_rate(const CheckQuestion& question) {
  const auto wanted = wanted_devices(question);
  const auto fastest = fastest_of(question.machine());
  Verdicts verdicts;
  for (const RdmaDevice* device : ready_rdma_devices(question.machine())) {
    const RdmaPort& port = *std::ranges::find_if(device->ports, &RdmaPort::is_active);
    const double best = fastest.at(model_of(*device, port));
    if (port.gbits <= 0 || port.gbits >= best || !wanted.contains(device->name)) continue;
    verdicts.push_back(
        {Severity::kError,
         fmt::format("{} runs at {:g} Gb/s{}, others of its kind at {:g}: collectives go at the "
                     "pace of the slowest",
                     device->name, port.gbits,
                     port.lanes > 0 ? fmt::format(" ({} lanes)", port.lanes) : "", best),
         "check cable, transceiver and switch port, or drain the node"});
  }
  return verdicts;
}

Verdicts check_hca_count(const CheckQuestion& question) {
  const Machine& machine = question.machine();
  size_t efa = 0;
  for (const RdmaDevice* device : ready_rdma_devices(machine)) efa += device->is_efa() ? 1 : 0;
  for (const ProductRow& row : kEfaDevices) {
    const bool is_whole_node = question.gpus >= 8;
    if (machine.maker.product != row.product || efa == 0 || efa >= row.devices || !is_whole_node)
      continue;
    return {{Severity::kWarning,
             fmt::format("{} of {} EFA devices of this {} can be used here", efa, row.devices,
                         row.product),
             fmt::format("request vpc.amazonaws.com/efa: {} in the pod, or replace the node",
                         row.devices)}};
  }
  const std::string remedy =
      "compare with another node of this kind: a card may have failed, or a "
      "device was not granted";
  if (const auto without = gpus_without_card(question); !without.empty()) {
    return {{Severity::kError,
             fmt::format("no RDMA device is near the {} at {}, and the other GPUs have one",
                         without.size() == 1 ? "GPU" : "GPUs", shown(without)),
             remedy}};
  }
  // One that is down is there, and another check says so.
  const Machine healthy = healthy_machine(question);
  const size_t used = choose_hcas(healthy).used.size();
  if (efa > 0 || used < 2 || question.gpus < 2 || used >= question.gpus ||
      question.gpus % used == 0)
    return {};
  return {{Severity::kError,
           fmt::format("{} RDMA devices for {} GPUs: one each is usual, and the GPUs without one "
                       "share",
                       used, question.gpus),
           remedy}};
}

Verdicts check_gid_missing(const CheckQuestion& question) {
  if (question.hcas.none_usable) return {};  // the plan says so
  std::vector<std::string> names;
  for (const RdmaDevice* device : ready_rdma_devices(question.machine())) {
    const RdmaPort* port = active_port(*device);
    if (port != nullptr && port->link_layer == LinkLayer::kEthernet && !has_usable_gid(*port))
      names.push_back(device->name);
  }
  if (names.empty()) return {};
  const bool too_few = question.hcas.used.size() < question.gpus;
  return {{too_few ? Severity::kError : Severity::kInfo,
           fmt::format("{} {} no IPv4 or IPv6 address in this container (GID)", shown(names),
                       names.size() == 1 ? "has" : "have"),
           too_few ? "attach the secondary network of each device to the pod" : ""}};
}

Verdicts check_pkey(const CheckQuestion& question) {
  constexpr int kFullMember = 0x8000;
  Verdicts verdicts;
  for (const RdmaDevice* device : question.hcas.used) {
    const RdmaPort& port = *active_port(*device);
    if (port.partition_key == 0 || (port.partition_key & kFullMember) != 0) continue;
    verdicts.push_back(
        {Severity::kError,
         fmt::format("the first partition key of {} is 0x{:04x}, a limited member: two limited "
                     "members cannot talk",
                     device->name, port.partition_key),
         "make the node a full member of the partition, or name the entry with NCCL_IB_PKEY"});
  }
  return question.node.fabric.settings.has("NCCL_IB_PKEY") ? Verdicts() : verdicts;
}

Verdicts check_mtu_mismatch(const CheckQuestion& question) {
  std::map<int, std::vector<std::string>> by_mtu;
  std::set<std::string> seen;
  for (const RdmaDevice* device : question.hcas.used) {
    if (active_port(*device)->link_layer != LinkLayer::kEthernet) continue;
    for (const Gid& gid : active_port(*device)->gids) {
      const NetworkInterface* interface =
          find_interface(question.machine().interfaces, gid.interface);
      if (interface != nullptr && interface->mtu && seen.insert(interface->name).second)
        by_mtu[*interface->mtu].push_back(interface->name);
    }
  }
  if (by_mtu.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [mtu, names] : by_mtu)
    parts.push_back(fmt::format("{} at {}", mtu, shown(names)));
  return {{Severity::kWarning,
           "the interfaces of the RDMA devices have different MTUs: " + join(parts, ", "),
           "give all of them the same MTU, here and on every node"}};
}

Verdicts check_lib_missing(const CheckQuestion& question) {
  std::map<std::string_view, std::string> missing;  // provider -> a device
  for (const RdmaDevice* device : ready_rdma_devices(question.machine())) {
    const auto row =
        std::ranges::find(kDrivers, std::string_view(device->driver), &DriverRow::kernel);
    if (row == std::end(kDrivers)) continue;
    const auto& names = question.node.verbs.names;
    if (std::ranges::find(names, row->provider) == names.end())
      missing.try_emplace(row->provider, device->name);
  }
  Verdicts verdicts;
  for (const auto& [provider, device] : missing) {
    verdicts.push_back(
        {question.gpus == 0 ? Severity::kInfo : Severity::kError,  // TCP needs none
         question.node.verbs.has_folder
             ? fmt::format("the image has no userspace driver for {} ({}.driver is not in "
                           "/etc/libibverbs.d)",
                           device, provider)
             : fmt::format("the image has no userspace drivers of RDMA devices such as {} "
                           "(/etc/libibverbs.d)",
                           device),
         "install rdma-core (ibverbs-providers) or the maker's packages in the image"});
  }
  for (Verdict& verdict : find_missing_providers(question)) verdicts.push_back(std::move(verdict));
  return verdicts;
}

}  // namespace muster::nccl
