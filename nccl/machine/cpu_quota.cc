#include "nccl/machine/cpu_quota.h"

#include <utility>
#include <vector>

#include "base/text.h"
#include "nccl/machine/sysfs.h"

namespace muster::nccl {
namespace {

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

std::vector<Cgroup> find_cpu_cgroups(std::string_view proc_self_cgroup,
                                     std::string_view mountinfo) {
  return find_cgroups(proc_self_cgroup, mountinfo, "cpu");
}

std::optional<CpuQuota> read_cpu_quota(const Files& files) {
  std::optional<CpuQuota> tightest;
  walk_up(read_cgroups(files, "cpu"), [&](const std::string& directory, bool is_v2) {
    auto quota = read_directory(files, directory, is_v2);
    if (quota && (!tightest || quota->cpus < tightest->cpus)) tightest = std::move(quota);
  });
  return tightest;
}

}  // namespace muster::nccl
