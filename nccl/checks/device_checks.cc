#include "nccl/checks/device_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nccl/checks/library_checks.h"

namespace muster::nccl {
namespace {

bool is_accelerator(const Machine& machine, const std::string& address) {
  return std::ranges::any_of(machine.accelerators, [&address](const Accelerator& accelerator) {
    return accelerator.pci_address == address;
  });
}

std::string name_at(const CheckQuestion& question, const std::string& address) {
  for (const RdmaDevice& device : question.machine().rdma) {
    if (device.pci && device.pci->address == address) return device.name + " (" + address + ")";
  }
  return "the GPU at " + address;
}

bool moves_data(const CheckQuestion& question, const std::string& address) {
  if (is_accelerator(question.machine(), address)) return true;
  return std::ranges::any_of(ready_rdma_devices(question.machine()), [&](const RdmaDevice* device) {
    const bool counts = device->is_efa() ||
                        std::ranges::find(question.hcas.used, device) != question.hcas.used.end();
    // One made of software (rxe, siw) has no PCI function.
    return counts && device->pci && device->pci->address == address;
  });
}

}  // namespace

Verdicts check_pcie_degraded(const CheckQuestion& question) {
  Verdicts verdicts;
  for (const PciLink& link : question.node.links) {
    if (!moves_data(question, link.address)) continue;
    if (link.width > 0 && link.width < link.most_width) {
      verdicts.push_back({Severity::kWarning,
                          fmt::format("the PCI link of {} has {} lanes of {}",
                                      name_at(question, link.address), link.width, link.most_width),
                          "reseat the card, or check the slot and its riser"});
    } else if (link.gigatransfers > 0 && link.gigatransfers < link.most_gigatransfers &&
               !is_accelerator(question.machine(), link.address)) {
      verdicts.push_back({Severity::kWarning,
                          fmt::format("the PCI link of {} runs at {:g} GT/s of {:g}",
                                      name_at(question, link.address), link.gigatransfers,
                                      link.most_gigatransfers),
                          "check the slot, its riser and the settings of the firmware"});
    }
  }
  return verdicts;
}

Verdicts check_numa_unknown(const CheckQuestion& question) {
  const FabricFacts& fabric = question.node.fabric;
  const auto& functions = fabric.machine.accelerator_functions;
  if (std::ranges::count(question.plan.findings, "numa_unknown", &Finding::id) > 0) return {};
  // NCCL orders them by what a topology file says; EFA's plugin brings its own.
  const bool is_told = !fabric.vendor.topology_file.empty() || fabric.vendor.has_virtual_topology ||
                       fabric.settings.has("NCCL_TOPO_FILE");
  if (is_told || question.gpus < 2 || question.hcas.used.size() < 2) return {};
  const bool is_unknown = std::ranges::any_of(functions, [](const PciFunction& function) {
    return !function.numa_node && (function.above.empty() || is_flattened(function));
  });
  if (!is_unknown) return {};
  return {{Severity::kWarning,
           "neither the PCI tree nor NUMA nodes tell which network card is near which GPU, as in "
           "many virtual machines: NCCL may pair distant ones",
           "name the maker's topology file with NCCL_TOPO_FILE"}};
}

Verdicts check_acs_iommu(const CheckQuestion& question) {
  const KernelState& kernel = question.node.kernel;
  const auto words = words_of(kernel.command_line_words);
  const auto has = [&words](std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  const bool is_on = has("intel_iommu=on") || has("amd_iommu=on") || has("iommu=force");
  const bool is_harmless = has("iommu=pt") || has("iommu.passthrough=1") || has("iommu=off") ||
                           has("intel_iommu=off") || has("amd_iommu=off");
  if (!is_on || is_harmless || question.gpus < 2 || !kernel.has_iommu_groups) return {};
  return {{Severity::kWarning,
           fmt::format("the node was booted with {}: the IOMMU translates what GPUs send to each "
                       "other, which is slow and may hang or damage data",
                       kernel.command_line_words),
           "boot with iommu=pt, and disable ACS on the PCI switches"}};
}

Verdicts check_gdr_path(const CheckQuestion& question) {
  const KernelState& kernel = question.node.kernel;
  const bool has_verbs = !question.hcas.used.empty();
  if (!has_verbs || question.gpus == 0 || !kernel.knows_modules) return {};
  const bool can_export = is_at_least(kernel.release, 5, 12);  // dma-buf of RDMA devices
  const auto kind = accelerator_kind(question.machine());
  if (kind == AcceleratorKind::kNvidia) {
    if (kernel.has_peer_memory || (kernel.nvidia.is_open && can_export) ||
        kernel.nvidia.version.empty())
      return {};
    return {{Severity::kError,
             fmt::format("GPUDirect RDMA cannot be used: nvidia_peermem is not loaded, and {} has "
                         "no dma-buf. All traffic goes through the memory of the host",
                         kernel.nvidia.is_open ? "kernel " + kernel.release
                                               : "the driver " + kernel.nvidia.version),
             "load nvidia-peermem on the node, or use the open kernel modules of NVIDIA's driver"}};
  }
  if (kind == AcceleratorKind::kAmd && !kernel.has_amd_peer_memory && !can_export &&
      !kernel.release.empty()) {
    return {{Severity::kError,
             fmt::format("GPUDirect RDMA cannot be used: amdkfd offers no peer memory, and kernel "
                         "{} has no dma-buf for RDMA",
                         kernel.release),
             "install the driver of ROCm with peer memory, or a newer kernel"}};
  }
  return {};
}

Verdicts check_gpu_lost(const CheckQuestion& question) {
  const Machine& machine = question.machine();
  const NvidiaNodes& nodes = question.node.nvidia;
  Verdicts verdicts;
  for (const Accelerator& accelerator : usable_accelerators(machine)) {
    const bool has_function =
        !accelerator.pci_address.empty() && function_of(machine, accelerator) != nullptr;
    if (accelerator.pci_address.empty() || has_function || machine.accelerator_functions.empty())
      continue;
    verdicts.push_back({Severity::kError,
                        fmt::format("{} is here, and there is nothing at {} on the PCI bus any "
                                    "more: the GPU is lost",
                                    accelerator.device_node, accelerator.pci_address),
                        "reboot the node; replace the GPU if it comes again"});
  }
  for (Verdict& verdict : find_unusable_gpus(question)) verdicts.push_back(std::move(verdict));
  if (accelerator_kind(machine) != AcceleratorKind::kNvidia) return verdicts;
  // A container sees the PCI functions of all GPUs, and of the driver only its own.
  const bool is_container = question.node.container.is_pod ||
                            question.node.fabric.settings.has("KUBERNETES_SERVICE_HOST");
  if (!is_container && nodes.known > 0 && nodes.bound > nodes.known) {
    verdicts.push_back({Severity::kError,
                        fmt::format("the driver has taken {} GPUs and knows {}: {} lost",
                                    nodes.bound, nodes.known, nodes.bound - nodes.known),
                        "look for Xid in the kernel log, reset the GPU or reboot the node"});
  }
  // On a host the first use of CUDA makes it.
  const bool has_memory = nodes.has_memory || !is_container;
  for (const auto& [is_there, name] :
       {std::pair{nodes.has_control, "/dev/nvidiactl"}, std::pair{has_memory, "/dev/nvidia-uvm"}}) {
    if (is_there) continue;
    verdicts.push_back({Severity::kError,
                        fmt::format("{} is not in this container: CUDA cannot start", name),
                        "start the container by NVIDIA's runtime (load nvidia-uvm on the node)"});
  }
  return verdicts;
}

Verdicts check_mig_mode(const CheckQuestion& question) {
  const auto& accelerators = usable_accelerators(question.machine());
  const size_t seen = std::ranges::count_if(accelerators, [](const Accelerator& accelerator) {
    return accelerator.mig_instances.has_value();
  });
  const size_t count = count_mig_gpus(question).value_or(seen);
  if (count == 0) return {};
  const bool is_many = question.job.workers > 1;
  return {{is_many ? Severity::kError : Severity::kWarning,
           fmt::format("{} in MIG mode: NCCL has no NVLink and no peer access between instances",
                       counted(count, "GPU is", "GPUs are")),
           is_many ? "switch MIG off (nvidia-smi -mig 0), or start one worker for each instance "
                     "without NCCL"
                   : "for jobs of several workers switch MIG off (nvidia-smi -mig 0)"}};
}

}  // namespace muster::nccl
