#include "nccl/machine/cpu_quota.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

// One cgroup mount, from a line of mountinfo (proc_pid_mountinfo(5)):
// 32 31 0:29 /docker/abc /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
struct CgroupMount {
  std::string_view root;  // the directory of the tree that is mounted
  std::string_view point;
  bool is_v2 = false;
};

bool has_word(std::string_view list, std::string_view word) {
  const std::vector<std::string_view> words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::optional<CgroupMount> parse_mount(std::string_view line) {
  const size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> before = split(line.substr(0, separator), ' ');
  const std::vector<std::string_view> after = split(line.substr(separator + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  const bool is_v2 = after[0] == "cgroup2";
  const bool is_v1_cpu = after[0] == "cgroup" && has_word(after[2], "cpu");
  if (!is_v2 && !is_v1_cpu) return std::nullopt;
  return CgroupMount{before[3], before[4], is_v2};
}

// The path of this process in the v2 tree ("0::/path") or in the v1 tree of the cpu controller
// ("4:cpu,cpuacct:/path").
std::optional<std::string_view> own_path(std::string_view proc_self_cgroup, bool is_v2) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool wanted =
        is_v2 ? line.substr(0, first) == "0" && controllers.empty() : has_word(controllers, "cpu");
    if (wanted) return line.substr(second + 1);
  }
  return std::nullopt;
}

// `path` seen from a mount of `root` at `point`: "/a/b/c" with "/a" at "/m" is "/m/b/c".
std::string place_below(const CgroupMount& mount, std::string_view path) {
  const std::string_view root = mount.root == "/" ? "" : mount.root;
  const bool inside = path.starts_with(root) && path.find("/..") == std::string_view::npos &&
                      (path.size() == root.size() || path[root.size()] == '/');
  std::string_view below = inside ? path.substr(root.size()) : "";
  while (below.ends_with('/')) below.remove_suffix(1);
  return std::string(mount.point) + std::string(below);
}

std::optional<double> to_cpus(std::optional<int64_t> quota_us, std::optional<int64_t> period_us) {
  if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) return std::nullopt;
  return static_cast<double>(*quota_us) / static_cast<double>(*period_us);
}

std::optional<CpuQuota> read_directory(const Files& files, const std::string& directory,
                                       bool is_v2) {
  const std::string source = directory + (is_v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
  const std::optional<double> cpus =
      is_v2 ? parse_cpu_max(read_attribute(files, source).value_or(""))
            : to_cpus(read_integer(files, source),
                      read_integer(files, directory + "/cpu.cfs_period_us"));
  if (!cpus) return std::nullopt;
  return CpuQuota{*cpus, source};
}

}  // namespace

std::optional<double> parse_cpu_max(std::string_view text) {
  const std::vector<std::string_view> words = split(trim(text), ' ');
  if (words.size() != 2) return std::nullopt;
  return to_cpus(parse_integer(words[0]), parse_integer(words[1]));  // "max" is no integer
}

std::vector<CpuCgroup> find_cpu_cgroups(std::string_view proc_self_cgroup,
                                        std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_mount(line);
    if (mount && mounts.size() < kMaxCgroupMounts) mounts.push_back(*mount);
  }
  if (mounts.empty()) {
    mounts = {{"/", "/sys/fs/cgroup", true},
              {"/", "/sys/fs/cgroup/cpu", false},
              {"/", "/sys/fs/cgroup/cpu,cpuacct", false}};
  }
  std::vector<CpuCgroup> cgroups;
  for (const CgroupMount& mount : mounts) {
    const auto path = own_path(proc_self_cgroup, mount.is_v2);
    cgroups.push_back(
        {std::string(mount.point), place_below(mount, path.value_or("")), mount.is_v2});
  }
  return cgroups;
}

std::optional<CpuQuota> read_cpu_quota(const Files& files) {
  const Result<std::string> own = files.read("/proc/self/cgroup");
  const Result<std::string> mounts = files.read("/proc/self/mountinfo");
  std::optional<CpuQuota> tightest;
  for (const CpuCgroup& cgroup : find_cpu_cgroups(own ? *own : "", mounts ? *mounts : "")) {
    std::string directory = cgroup.directory;
    for (int depth = 0; depth < kMaxCgroupDepth; ++depth) {
      auto quota = read_directory(files, directory, cgroup.is_v2);
      if (quota && (!tightest || quota->cpus < tightest->cpus)) tightest = std::move(quota);
      if (directory.size() <= cgroup.mount_point.size()) break;
      directory.resize(directory.rfind('/'));
    }
  }
  return tightest;
}

}  // namespace muster::nccl
