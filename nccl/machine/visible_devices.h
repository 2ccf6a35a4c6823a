// Which accelerators a worker sees: the devices of this container, filtered and ordered by the
// variables that the vendors' runtimes read. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "nccl/machine/accelerators.h"

namespace muster::nccl {

inline constexpr size_t kMaxVisibleEntries = 1024;  ///< of one list; more are cut off

/// `devices` in the order in which the worker counts them: its device 0 is the first.
/// `reason` names the numbers: "2 of 8 NVIDIA GPUs by CUDA_VISIBLE_DEVICES=2,3".
struct VisibleDevices {
  std::vector<Accelerator> devices;
  std::string reason;
};

/// Devices of one kind as a process with this environment sees them; only accessible ones count.
/// NVIDIA: CUDA_VISIBLE_DEVICES. AMD: ROCR_VISIBLE_DEVICES, and inside what that leaves
/// HIP_VISIBLE_DEVICES or, without it, CUDA_VISIBLE_DEVICES. Intel: ZE_AFFINITY_MASK with
/// ZE_FLAT_DEVICE_HIERARCHY; tiles are devices in FLAT (the default), cards otherwise.
/// A GPU in MIG mode counts once, whatever the number of its instances, because CUDA shows a
/// process one instance only; unverified: with GPUs in and out of MIG mode side by side and no
/// list, those out of it are counted alone.
/// NVIDIA_VISIBLE_DEVICES is not read: it instructs the container runtime, which has acted on it
/// by making device nodes, and the value may be "all", "void" or a path.
[[nodiscard]] VisibleDevices visible_devices(const std::vector<Accelerator>& all,
                                             AcceleratorKind kind, const Environment& environment);

/// One element of a list: an index, or the id it starts with ("GPU-", "MIG-").
struct VisibleEntry {
  std::optional<int> index;
  std::string id;
  friend bool operator==(const VisibleEntry&, const VisibleEntry&) = default;
};

/// The list as CUDA and HIP read it: indices or ids, not both; the list ends before the first
/// element that is neither ("-1" hides everything after it), digits may be followed by other text,
/// and a repeated element makes the whole list empty.
/// Source: CUDA C Programming Guide, "CUDA Environment Variables"; torch.cuda device parsing (2.x).
[[nodiscard]] std::vector<VisibleEntry> parse_visible_devices(std::string_view text);

}  // namespace muster::nccl
