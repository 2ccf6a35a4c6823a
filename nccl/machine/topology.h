// Topology: which CPUs of this machine belong together: NUMA nodes, sockets, cores, last-level
// caches. From /sys/devices/system; no hwloc. It describes the hardware, not what this container
// may use of it (base/cpu_set.h allowed_cpus, nccl/cpu_quota.h).
#pragma once

#include <vector>

#include "base/cpu_set.h"
#include "base/files.h"

namespace muster::nccl {

inline constexpr int kMaxNumaNodes = 1024;  ///< CONFIG_NODES_SHIFT is at most 10
inline constexpr int kMaxCacheIndexes =
    16;  ///< indexN directories read per CPU; real ones have 3..5

struct NumaNode {
  int id = 0;   ///< N of /sys/devices/system/node/nodeN
  CpuSet cpus;  ///< online ones; empty for a node with memory only
};

struct Socket {
  int id = 0;  ///< physical_package_id; -1 where the kernel does not know it (some guests)
  CpuSet cpus;
};

/// Every list is sorted, by id or by its first CPU. Each online CPU is in exactly one socket, one
/// core and one cache group.
struct Topology {
  CpuSet online;
  std::vector<NumaNode> nodes;
  std::vector<Socket> sockets;
  std::vector<CpuSet> cores;         ///< the hardware threads of one physical core
  std::vector<CpuSet> cache_groups;  ///< CPUs that share one last-level data or unified cache
};

/// Reads the machine below `files`. Never fails: without node directories there is one node 0 with
/// every CPU; without topology files each CPU is a core of socket -1; without cache files a cache
/// group is a socket; without any CPU list everything is empty.
/// Reads about three files per core and ten per cache group.
/// Source: Documentation/admin-guide/cputopology.rst, Documentation/ABI/stable/sysfs-devices-node,
/// Documentation/ABI/testing/sysfs-devices-system-cpu (Linux 6.x).
[[nodiscard]] Topology read_topology(const Files& files);

}  // namespace muster::nccl
