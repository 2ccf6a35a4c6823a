// CPU quota: how much CPU time the cgroups around this process grant, v1 and v2. Not which CPUs
// (that is the affinity mask, base/cpu_set.h allowed_cpus), and not the weights (cpu.shares,
// cpu.weight), which limit nothing on an idle machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster::nccl {

inline constexpr int kMaxCgroupDepth = 64;      ///< directories walked up; Kubernetes has 4 to 6
inline constexpr size_t kMaxCgroupMounts = 32;  ///< looked into; one or two hold CPU limits

/// The tightest limit found. `cpus` > 0, e.g. 2.5. `source` is the file that says so.
struct CpuQuota {
  double cpus = 0;
  std::string source;
};

/// Reads cpu.max (v2) or cpu.cfs_quota_us and cpu.cfs_period_us (v1) of this process's cgroup and
/// of every one above it that is mounted here, and returns the smallest; both versions when both
/// are mounted. None: no limit, or nothing readable (as on a host without containers).
/// Source: Documentation/admin-guide/cgroup-v2.rst, scheduler/sched-bwc.rst (Linux 6.x).
[[nodiscard]] std::optional<CpuQuota> read_cpu_quota(const Files& files);

/// cpu.max: "250000 100000" is 2.5; "max 100000" and everything malformed is none.
[[nodiscard]] std::optional<double> parse_cpu_max(std::string_view text);

/// One cgroup tree that can limit CPU time and the place of this process in it.
struct CpuCgroup {
  std::string mount_point;  ///< "/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"
  std::string directory;    ///< this process's, at or below mount_point
  bool is_v2 = false;
  friend bool operator==(const CpuCgroup&, const CpuCgroup&) = default;
};

/// From /proc/self/cgroup and /proc/self/mountinfo. A container without a cgroup namespace sees the
/// host's path in the one and has only its own subtree mounted, which the other tells; a path
/// outside the mount counts as the mount itself. Without mountinfo the usual mount points are
/// assumed. Malformed lines are skipped.
[[nodiscard]] std::vector<CpuCgroup> find_cpu_cgroups(std::string_view proc_self_cgroup,
                                                      std::string_view mountinfo);

}  // namespace muster::nccl
