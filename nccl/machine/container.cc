#include "nccl/machine/container.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "nccl/machine/cgroups.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

constexpr std::string_view kSharedMemory = "/dev/shm";

// Mount point, type and the options of the file system of one line (proc_pid_mountinfo(5)).
struct MountLine {
  std::string_view point;
  std::string_view type;
  std::string_view options;
};

std::optional<MountLine> parse_line(std::string_view line) {
  const size_t separator = line.find(" - ");
  if (separator == std::string_view::npos) return std::nullopt;
  const auto before = split(line.substr(0, separator), ' ');
  const auto after = split(line.substr(separator + 3), ' ');
  if (before.size() < 5 || after.size() < 3) return std::nullopt;
  return MountLine{before[4], after[0], after[2]};
}

// "65536k": tmpfs writes whole KiB.
std::optional<uint64_t> parse_size(std::string_view text) {
  if (!text.ends_with('k')) return std::nullopt;
  text.remove_suffix(1);
  const auto kib = parse_integer(text);
  constexpr int64_t kMost = int64_t{1} << 50;
  if (!kib || *kib < 0 || *kib > kMost) return std::nullopt;
  return static_cast<uint64_t>(*kib) * 1024;
}

bool has_overlay_root(std::string_view mountinfo) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_line(line);
    if (mount && mount->point == "/") return mount->type == "overlay";
  }
  return false;
}

std::optional<uint64_t> read_oom_kills(const Files& files, const std::vector<Cgroup>& cgroups) {
  // Those of the machine's root count everybody's; there the file is missing.
  for (const Cgroup& cgroup : cgroups) {
    const auto text = files.read(
        cgroup.directory + (cgroup.is_v2 ? "/memory.events" : "/memory.oom_control"), 64 * 1024);
    const auto count = text ? line_value(*text, "oom_kill") : std::nullopt;
    const auto number = count ? parse_integer(*count) : std::nullopt;
    if (number && *number >= 0) return static_cast<uint64_t>(*number);
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_mount_size(std::string_view mountinfo, std::string_view point) {
  std::optional<uint64_t> size;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_line(line);
    if (!mount || mount->point != point) continue;
    size.reset();  // a later mount hides an earlier one
    for (const std::string_view option : split(mount->options, ',')) {
      if (option.starts_with("size=")) size = parse_size(option.substr(5));
    }
  }
  return size;
}

Container read_container(const Files& files) {
  Container container;
  const auto mounts = files.read("/proc/self/mountinfo");
  const std::string mountinfo = mounts ? *mounts : "";
  container.is_pod = has_overlay_root(mountinfo);
  container.cpu = read_cpu_quota(files);
  if (const auto status = files.read("/proc/self/status", 64 * 1024)) {
    if (const auto list = line_value(*status, "Cpus_allowed_list"))
      container.allowed_cpus = parse_cpu_list(*list);
  }
  const auto memory = read_cgroups(files, "memory");
  container.memory_bytes = read_smallest(files, memory, "memory.max", "memory.limit_in_bytes");
  container.oom_kills = read_oom_kills(files, memory);
  container.processes = read_smallest(files, read_cgroups(files, "pids"), "pids.max", "pids.max");
  container.huge_page_bytes = read_smallest(files, read_cgroups(files, "hugetlb"),
                                            "hugetlb.2MB.max", "hugetlb.2MB.limit_in_bytes");
  // A recorded machine has only what its mount says.
  if (const auto space = files.space(std::string(kSharedMemory))) {
    container.shared_bytes = space->size_bytes;
    container.shared_free_bytes = space->free_bytes;
  } else {
    container.shared_bytes = parse_mount_size(mountinfo, kSharedMemory);
  }
  return container;
}

}  // namespace muster::nccl
