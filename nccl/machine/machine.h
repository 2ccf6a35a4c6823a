// Machine: all that is known of the hardware of this node and of what this container was given of
// it. Read once from files; decisions about it are made elsewhere and are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/network_interfaces.h"
#include "nccl/machine/pci.h"
#include "nccl/machine/rdma.h"

namespace muster::nccl {

/// Who made the machine, as its firmware says (DMI). Everything may be "": gVisor and Kata show
/// nothing.
struct MachineMaker {
  std::string vendor;     ///< "Amazon EC2", "Google", "Microsoft Corporation"
  std::string product;    ///< "p5.48xlarge", "DGXH100"
  std::string asset_tag;  ///< of the chassis: "OracleCloud.com"
};

struct Machine {
  MachineMaker maker;
  std::vector<Accelerator> accelerators;  ///< those of the host; see Accelerator::accessible
  std::vector<PciFunction> accelerator_functions;  ///< of those with a known address, their order
  std::vector<RdmaDevice> rdma;
  std::vector<NetworkInterface> interfaces;
  std::vector<PciModel> network_cards;  ///< of the host
  std::string host_name;
  std::string own_addresses;  ///< what /etc/hosts says about host_name, e.g. "127.0.1.1"; "" = none
  std::vector<std::string> imex_channels;  ///< "channel0"
  bool has_slingshot = false;              ///< HPE's cards (cxi)
};

/// Whose files are read.
enum class MachineSource {
  kLive,      ///< this machine's: the kernel is asked for its addresses, too
  kRecorded,  ///< of another one: there are no more than files
};
enum class MachineDetail {
  kAll,
  /// Without RDMA devices and without accelerators no more than names: some ten system calls.
  kNeeded,
};

/// Where a machine is read from, and how much of it. `files` is borrowed.
struct MachineView {
  const Files& files;
  MachineSource source = MachineSource::kLive;
  MachineDetail detail = MachineDetail::kNeeded;
};

/// The addresses of a recorded machine, "eth0 10.0.1.2" a line, in the kernel's order: /proc does
/// not tell them all.
inline constexpr const char* kRecordedAddresses = "/addresses";
inline constexpr size_t kMaxRecordedAddresses = 4096;

/// Never fails.
[[nodiscard]] Machine read_machine(const MachineView& view);

/// Accelerators that this container may use.
[[nodiscard]] std::vector<Accelerator> usable_accelerators(const Machine& machine);

/// The function of that address among those of accelerators. Null: unknown.
[[nodiscard]] const PciFunction* function_of(const Machine& machine,
                                             const Accelerator& accelerator);

/// The kind of the accelerators that this container may use; none = it has none.
[[nodiscard]] std::optional<AcceleratorKind> accelerator_kind(const Machine& machine);

}  // namespace muster::nccl
