// CPU quota: how much CPU time the cgroups around this process grant, v1 and v2. Not which CPUs
// (that is the affinity mask, base/cpu_set.h allowed_cpus), and not the weights (cpu.shares,
// cpu.weight), which limit nothing on an idle machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "nccl/machine/cgroups.h"

namespace muster::nccl {

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

/// find_cgroups() for CPU time.
[[nodiscard]] std::vector<Cgroup> find_cpu_cgroups(std::string_view proc_self_cgroup,
                                                   std::string_view mountinfo);

}  // namespace muster::nccl
