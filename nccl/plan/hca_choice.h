// HcaChoice: which of the RDMA devices a job's GPUs should use. Left to itself NCCL takes every
// port that is active, also those of the storage and of the node's own network. Pure.
#pragma once

#include <string>
#include <vector>

#include "nccl/machine/machine.h"

namespace muster::nccl {

enum class DropCause {
  kNotGranted,  ///< this container has no device node of it
  kNoAddress,   ///< RoCE, and no entry of its GID table can be read here
  kNotOfJob,    ///< it could be used, and is for something else
};

struct DroppedDevice {
  std::string name;
  DropCause cause = DropCause::kNotOfJob;
  std::string reason;  ///< one clause: "no GPU is near it"
};

struct HcaChoice {
  std::vector<const RdmaDevice*> used;  ///< by name; borrowed of the machine
  std::vector<DroppedDevice> dropped;   ///< NCCL would take them, or the container cannot use them
  /// Whether NCCL would take more than `used`, so that it must be told.
  bool must_be_listed = false;
  /// The number fits that of the GPUs, and all have one rate.
  bool is_certain = false;
  /// Devices are visible here, and none of them can be used.
  bool none_usable = false;
};

/// EFA and other devices that are no InfiniBand or Ethernet ports are not looked at: NCCL reaches
/// them by a plugin.
[[nodiscard]] HcaChoice choose_hcas(const Machine& machine);

/// What NCCL calls a device: one with an active port of InfiniBand or Ethernet.
[[nodiscard]] const RdmaPort* active_port(const RdmaDevice& device);

/// "mlx5_0,mlx5_3".
[[nodiscard]] std::string names_of(const std::vector<const RdmaDevice*>& devices);

}  // namespace muster::nccl
