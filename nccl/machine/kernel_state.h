// KernelState: what the kernel and its drivers are set to, as far as a job's traffic depends on it:
// versions, modules, huge pages, ports, tracked connections, the IOMMU; and listeners of service
// meshes. What devices there are: machine.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster::nccl {

inline constexpr size_t kMaxSocketTableBytes = 1 << 20;  ///< read of /proc/net/tcp

/// The driver of NVIDIA's GPUs.
struct NvidiaDriver {
  std::string version;   ///< "550.90.07"; "" = not known
  bool is_open = false;  ///< the open kernel modules, which can export memory as dma-buf
};

/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  ..." Pure.
[[nodiscard]] NvidiaDriver parse_nvidia_version(std::string_view text);

struct PortRange {
  int first = 0;
  int last = 0;
  [[nodiscard]] int count() const { return last - first + 1; }
};

/// What cannot be read is none or empty.
struct KernelState {
  std::string release;             ///< "6.8.0-1015-generic"
  std::string command_line_words;  ///< those of the boot that are about the IOMMU
  bool has_iommu_groups = false;
  NvidiaDriver nvidia;
  bool knows_modules = false;          ///< /sys/module is there
  bool has_peer_memory = false;        ///< nvidia_peermem or its predecessor nv_peer_mem
  bool has_amd_peer_memory = false;    ///< amdkfd offers peer memory to the RDMA drivers
  std::optional<uint64_t> huge_pages;  ///< of 2 MiB, of the whole machine
  std::optional<uint64_t> free_huge_pages;
  std::optional<bool> numa_balancing;
  std::optional<PortRange> ephemeral_ports;
  std::optional<uint64_t> tracked_connections;  ///< of this network namespace
  std::optional<uint64_t> max_tracked_connections;
  std::vector<int> mesh_ports;  ///< ports of service meshes on which somebody listens here
  bool has_mesh_files = false;  ///< /etc/istio
};

/// Never fails. Some 20 small reads and /proc/net/tcp.
[[nodiscard]] KernelState read_kernel_state(const Files& files);

/// True: `release` is this version or a later one. False, too: it has no version in front. Pure.
[[nodiscard]] bool is_at_least(std::string_view release, int major, int minor);

/// Ports on which service meshes listen in every pod that they have. Istio: 15001 and 15006 take
/// all traffic, 15021 tells its health. Linkerd: 4143, 4140, 4191.
[[nodiscard]] const std::vector<int>& mesh_ports();

/// Ports below 65536 on which a line of /proc/net/tcp or tcp6 says that somebody listens, of
/// `wanted`, each once. Pure.
[[nodiscard]] std::vector<int> listening_ports(std::string_view socket_table,
                                               const std::vector<int>& wanted);

}  // namespace muster::nccl
