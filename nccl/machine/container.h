// Container: what the container around this process grants of processors, memory, huge pages,
// processes and shared memory. Limits of the process itself: limits.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu_set.h"
#include "base/files.h"
#include "nccl/machine/cpu_quota.h"

namespace muster::nccl {

/// None: no limit, or not known.
struct Container {
  bool is_pod = false;  ///< its root is an overlay, as those of containers are
  std::optional<CpuQuota> cpu;
  std::optional<CpuSet> allowed_cpus;  ///< Cpus_allowed_list
  std::optional<uint64_t> memory_bytes;
  std::optional<uint64_t> oom_kills;        ///< so far, in this container
  std::optional<uint64_t> processes;        ///< pids.max
  std::optional<uint64_t> huge_page_bytes;  ///< hugetlb.2MB.max; 0 = it may have none
  std::optional<uint64_t> shared_bytes;     ///< size of /dev/shm
  std::optional<uint64_t> shared_free_bytes;
};

/// Never fails. Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/,
/// proc_pid_mountinfo(5).
[[nodiscard]] Container read_container(const Files& files);

/// The size that the mount at `point` was given ("size=65536k"), in bytes. None: no such mount, or
/// one without a size.
[[nodiscard]] std::optional<uint64_t> parse_mount_size(std::string_view mountinfo,
                                                       std::string_view point);

}  // namespace muster::nccl
