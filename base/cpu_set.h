// CpuSet: a sorted set of CPU numbers and the kernel's text form of it ("0-3,8").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster {

inline constexpr int kMaxCpus = 8192;  ///< CONFIG_NR_CPUS of the largest distribution kernels

/// Logical CPU numbers, sorted, without duplicates.
using CpuSet = std::vector<int>;

/// The kernel's list format (Documentation/admin-guide/cputopology.rst): "0-3,8\n". Empty text is
/// the empty set. None for anything else or a number >= kMaxCpus.
[[nodiscard]] std::optional<CpuSet> parse_cpu_list(std::string_view text);
[[nodiscard]] std::string format_cpu_list(const CpuSet& cpus);
/// Those in both.
[[nodiscard]] CpuSet intersect(const CpuSet& a, const CpuSet& b);

/// CPUs this process may run on (sched_getaffinity). kOs.
Result<CpuSet> allowed_cpus();

}  // namespace muster
