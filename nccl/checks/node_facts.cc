#include "nccl/checks/node_facts.h"

#include <string_view>
#include <utility>

#include "nccl/machine/accelerators.h"

namespace muster::nccl {
namespace {

constexpr size_t kMaxVerbsDrivers = 64;  // rdma-core has some 20

std::vector<std::string> list_or_nothing(const Files& files, const std::string& path) {
  auto names = files.list(path);
  return names ? std::move(*names) : std::vector<std::string>();
}

VerbsDrivers read_verbs_drivers(const Files& files) {
  constexpr std::string_view kEnd = ".driver";
  const std::string folder = "/etc/libibverbs.d";
  VerbsDrivers drivers;
  drivers.has_folder = files.is_directory(folder);
  for (const std::string& name : list_or_nothing(files, folder)) {
    if (name.ends_with(kEnd) && drivers.names.size() < kMaxVerbsDrivers)
      drivers.names.push_back(name.substr(0, name.size() - kEnd.size()));
  }
  return drivers;
}

NvidiaNodes read_nvidia_nodes(const Files& files) {
  NvidiaNodes nodes;
  nodes.has_control = files.exists("/dev/nvidiactl");
  nodes.has_memory = files.exists("/dev/nvidia-uvm");
  for (const std::string& name : list_or_nothing(files, "/sys/bus/pci/drivers/nvidia")) {
    if (normalize_pci_address(name)) ++nodes.bound;
  }
  nodes.known = list_or_nothing(files, "/proc/driver/nvidia/gpus").size();
  return nodes;
}

// A virtual function says nothing of the link of its card.
bool is_virtual_function(const Files& files, const std::string& address) {
  return files.exists("/sys/bus/pci/devices/" + address + "/physfn");
}

std::vector<std::string> addresses_with_links(const Files& files, const Machine& machine) {
  std::vector<std::string> addresses;
  for (const Accelerator& accelerator : usable_accelerators(machine)) {
    if (!accelerator.pci_address.empty()) addresses.push_back(accelerator.pci_address);
  }
  for (const RdmaDevice& device : machine.rdma) {
    if (device.pci && !is_virtual_function(files, device.pci->address))
      addresses.push_back(device.pci->address);
  }
  return addresses;
}

}  // namespace

Result<NodeFacts> read_node_facts(const MachineView& view, const Environment& environment) {
  NodeFacts node;
  auto profile = read_profile(view.files, "");
  if (!profile) return std::move(profile).error();
  node.fabric = read_fabric_facts(view, environment, std::move(*profile));
  read_gid_interfaces(view.files, node.fabric.machine.rdma);
  node.limits = read_limits(view);
  node.privileges = read_privileges(view.files);
  node.container = read_container(view.files);
  node.kernel = read_kernel_state(view.files);
  node.links = read_pci_links(view.files, addresses_with_links(view.files, node.fabric.machine));
  node.has_rdma_cm = view.files.exists("/dev/infiniband/rdma_cm");
  node.verbs = read_verbs_drivers(view.files);
  node.nvidia = read_nvidia_nodes(view.files);
  return node;
}

}  // namespace muster::nccl
