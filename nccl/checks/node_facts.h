// NodeFacts: all that the checks of a node look at, read once from its files. What was found by
// doing something (a probe) comes beside it, from whoever did it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "nccl/checks/library_facts.h"
#include "nccl/machine/container.h"
#include "nccl/machine/kernel_state.h"
#include "nccl/machine/limits.h"
#include "nccl/machine/pci_links.h"
#include "nccl/machine/privileges.h"
#include "nccl/plan/fabric_plan.h"

namespace muster::nccl {

/// What the image has of rdma-core's drivers.
struct VerbsDrivers {
  bool has_folder = false;         ///< /etc/libibverbs.d is there
  std::vector<std::string> names;  ///< "mlx5" of mlx5.driver
};

/// Device nodes that no GPU of NVIDIA's works without, and what its driver holds.
struct NvidiaNodes {
  bool has_control = false;  ///< /dev/nvidiactl
  bool has_memory = false;   ///< /dev/nvidia-uvm
  size_t bound = 0;          ///< functions of PCI that the driver has taken, on the whole machine
  size_t known = 0;          ///< GPUs in /proc/driver/nvidia/gpus
};

struct NodeFacts {
  FabricFacts fabric;
  Limits limits;
  Privileges privileges;
  Container container;
  KernelState kernel;
  std::vector<PciLink> links;  ///< of the accelerators and of the RDMA devices
  bool has_rdma_cm = false;    ///< /dev/infiniband/rdma_cm
  VerbsDrivers verbs;
  NvidiaNodes nvidia;
};

/// Errors: read_profile().
Result<NodeFacts> read_node_facts(const MachineView& view, const Environment& environment);

/// What was found by trying. None: it was not tried, or could not be.
struct ProbeResults {
  struct Locked {
    uint64_t bytes = 0;
    int os_errno = 0;  ///< 0 = it could be locked
  };
  std::optional<Locked> locked;
  /// Of one huge page: 0 = it could be touched; else the signal that ended whoever tried.
  std::optional<int> huge_page_signal;
  /// Why the own name has no address; "" = it has one.
  std::optional<std::string> own_name_problem;
  LibraryFacts libraries;  ///< of the image, if muster-probe is there
};

}  // namespace muster::nccl
