#include "nccl/machine/cgroups.h"

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

std::optional<CgroupMount> parse_mount(std::string_view line, std::string_view controller) {
  const size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> before = split(line.substr(0, separator), ' ');
  const std::vector<std::string_view> after = split(line.substr(separator + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  const bool is_v2 = after[0] == "cgroup2";
  const bool is_v1 = after[0] == "cgroup" && has_word(after[2], controller);
  if (!is_v2 && !is_v1) return std::nullopt;
  return CgroupMount{before[3], before[4], is_v2};
}

// The path of this process in the v2 tree ("0::/path") or in the v1 tree of the controller
// ("4:cpu,cpuacct:/path").
std::optional<std::string_view> own_path(std::string_view proc_self_cgroup, bool is_v2,
                                         std::string_view controller) {
  for (const std::string_view line : split(proc_self_cgroup, '\n')) {
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool wanted = is_v2 ? line.substr(0, first) == "0" && controllers.empty()
                              : has_word(controllers, controller);
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

// Version 1 writes the largest number of whole pages for "no limit".
constexpr uint64_t kNoLimit = uint64_t{1} << 62;

std::optional<uint64_t> read_limit(const Files& files, const std::string& path) {
  const auto value = read_integer(files, path);
  if (!value || *value < 0 || static_cast<uint64_t>(*value) >= kNoLimit) return std::nullopt;
  return static_cast<uint64_t>(*value);
}

// As mount points usually are, when mountinfo says nothing.
std::vector<CgroupMount> assumed_mounts(std::string_view controller) {
  if (controller == "cpu") {
    return {{"/", "/sys/fs/cgroup", true},
            {"/", "/sys/fs/cgroup/cpu", false},
            {"/", "/sys/fs/cgroup/cpu,cpuacct", false}};
  }
  std::vector<CgroupMount> mounts = {{"/", "/sys/fs/cgroup", true}};
  for (const std::string_view point :
       {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/hugetlb"}) {
    if (base_name(point) == controller) mounts.push_back({"/", point, false});
  }
  return mounts;
}

}  // namespace

std::vector<Cgroup> find_cgroups(std::string_view proc_self_cgroup, std::string_view mountinfo,
                                 std::string_view controller) {
  std::vector<CgroupMount> mounts;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_mount(line, controller);
    if (mount && mounts.size() < kMaxCgroupMounts) mounts.push_back(*mount);
  }
  if (mounts.empty()) mounts = assumed_mounts(controller);
  std::vector<Cgroup> cgroups;
  for (const CgroupMount& mount : mounts) {
    const auto path = own_path(proc_self_cgroup, mount.is_v2, controller);
    cgroups.push_back(
        {std::string(mount.point), place_below(mount, path.value_or("")), mount.is_v2});
  }
  return cgroups;
}

std::vector<Cgroup> read_cgroups(const Files& files, std::string_view controller) {
  const Result<std::string> own = files.read("/proc/self/cgroup");
  const Result<std::string> mounts = files.read("/proc/self/mountinfo");
  return find_cgroups(own ? *own : "", mounts ? *mounts : "", controller);
}

void walk_up(const std::vector<Cgroup>& cgroups,
             const std::function<void(const std::string& directory, bool is_v2)>& visit) {
  for (const Cgroup& cgroup : cgroups) {
    std::string directory = cgroup.directory;
    for (int depth = 0; depth < kMaxCgroupDepth; ++depth) {
      visit(directory, cgroup.is_v2);
      if (directory.size() <= cgroup.mount_point.size()) break;
      directory.resize(directory.rfind('/'));
    }
  }
}

std::optional<uint64_t> read_smallest(const Files& files, const std::vector<Cgroup>& cgroups,
                                      std::string_view v2, std::string_view v1) {
  std::optional<uint64_t> smallest;
  walk_up(cgroups, [&](const std::string& directory, bool is_v2) {
    const auto limit = read_limit(files, directory + "/" + std::string(is_v2 ? v2 : v1));
    if (limit && (!smallest || *limit < *smallest)) smallest = limit;
  });
  return smallest;
}

}  // namespace muster::nccl
