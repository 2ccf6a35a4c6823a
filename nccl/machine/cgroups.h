// Cgroups: where the files of this process's control groups are, and the smallest of a limit that
// stands in them and above them. What a limit means: cpu_quota.h and container.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace muster::nccl {

inline constexpr int kMaxCgroupDepth = 64;      ///< directories walked up; Kubernetes has 4 to 6
inline constexpr size_t kMaxCgroupMounts = 32;  ///< looked into; one or two hold a controller

/// One cgroup tree that can hold a controller and the place of this process in it.
struct Cgroup {
  std::string mount_point;  ///< "/sys/fs/cgroup", "/sys/fs/cgroup/cpu,cpuacct"
  std::string directory;    ///< this process's, at or below mount_point
  bool is_v2 = false;
  friend bool operator==(const Cgroup&, const Cgroup&) = default;
};

/// From /proc/self/cgroup and /proc/self/mountinfo, for `controller` ("cpu", "memory"). A container
/// without a cgroup namespace sees the host's path in the one and has only its own subtree mounted,
/// which the other tells; a path outside the mount counts as the mount itself. Without mountinfo
/// the usual mount points are assumed. Malformed lines are skipped.
[[nodiscard]] std::vector<Cgroup> find_cgroups(std::string_view proc_self_cgroup,
                                               std::string_view mountinfo,
                                               std::string_view controller);
/// The same, with the two files read.
[[nodiscard]] std::vector<Cgroup> read_cgroups(const Files& files, std::string_view controller);

/// Calls `visit` with the directory of each group and with those above it, up to the mounts.
void walk_up(const std::vector<Cgroup>& cgroups,
             const std::function<void(const std::string& directory, bool is_v2)>& visit);

/// The smallest number in the files of this name in all of them; `v1` is its name in version 1.
/// None: no limit ("max", or what version 1 writes for none), or nothing readable.
[[nodiscard]] std::optional<uint64_t> read_smallest(const Files& files,
                                                    const std::vector<Cgroup>& cgroups,
                                                    std::string_view v2, std::string_view v1);

}  // namespace muster::nccl
