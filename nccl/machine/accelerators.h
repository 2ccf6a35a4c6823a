// Accelerators of this node: what the drivers publish in /sys and /proc, and which of it this
// container was given. No vendor library is loaded; NVML and friends belong to muster-probe.
// Which of these devices a worker sees through *_VISIBLE_DEVICES: nccl/visible_devices.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"

namespace muster::nccl {

inline constexpr size_t kMaxAccelerators = 256;  ///< per kind; the largest nodes have 16 to 64
inline constexpr int kMaxMigInstances = 64;      ///< counted per GPU; hardware has 7

enum class AcceleratorKind { kNvidia, kAmd, kIntelXpu };
/// "NVIDIA GPU", "AMD GPU", "Intel XPU".
[[nodiscard]] std::string_view to_string(AcceleratorKind kind);

struct Accelerator {
  AcceleratorKind kind = AcceleratorKind::kNvidia;
  std::string pci_address;       ///< "0000:1b:00.0", lower case; "" = unknown
  std::string uuid;              ///< "GPU-..." as the vendor's runtime names it; "" = unknown
  std::optional<int> numa_node;  ///< none = the kernel does not know (it says -1, usual in guests)
  CpuSet local_cpus;             ///< CPUs near it; empty = unknown
  std::string device_node;       ///< "/dev/nvidia3", "/dev/dri/renderD128"; "" = unknown
  /// The device node (and what it needs beside it, /dev/kfd) exists in this container. sysfs shows
  /// the whole host, so this is what tells a pod's own devices from its neighbours'. Existence
  /// only: opening a GPU's node to test more would wake the device.
  bool accessible = false;
  /// NVIDIA MIG: compute instances of it that this container may use. None = not in MIG mode. In
  /// MIG mode the GPU itself is unusable, and one process can use one instance.
  std::optional<int> mig_instances;
  int tiles = 1;  ///< Intel: independent tiles, each a device in the default FLAT hierarchy
  bool integrated = false;  ///< Intel: the graphics part of the CPU, not a training device
};

/// Everything found, by kind, then in the order in which the vendor's runtime counts by default
/// (NVIDIA and Intel: PCI address; AMD: KFD node). For NVIDIA that assumes GPUs of one model:
/// CUDA's own default is fastest first, and only CUDA_DEVICE_ORDER=PCI_BUS_ID promises this order.
/// Never fails; a missing or malformed file leaves its field unknown or its device out.
/// Sources: /proc/driver/nvidia (driver README, MIG User Guide "Device Nodes and Capabilities"),
/// /sys/class/kfd (Linux amdkfd), /sys/bus/pci/drivers/{i915,xe}.
[[nodiscard]] std::vector<Accelerator> discover_accelerators(const Files& files);

/// "0000:1B:00.0" or NVML's "00000000:1B:00.0" -> "0000:1b:00.0". None: not a PCI address.
[[nodiscard]] std::optional<std::string> normalize_pci_address(std::string_view text);

/// PCI address of a KFD node from its `domain` and `location_id` (bus << 8 | device << 3 |
/// function; higher bits are ignored). None: negative or a domain above 32 bits.
[[nodiscard]] std::optional<std::string> kfd_pci_address(int64_t domain, int64_t location_id);

}  // namespace muster::nccl
