// Small reads of /sys and /proc in the forms the kernel writes them: one number, one list, one
// "key: value" line. Tolerant by intent: what is missing or malformed is "none", never an error,
// because every one of these files is absent on some machine. Used by devices, topology, cpu_quota.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/cpu_set.h"
#include "base/files.h"

namespace muster::nccl {

/// sysfs attributes are at most one page (Documentation/filesystems/sysfs.rst).
inline constexpr size_t kMaxAttributeBytes = 4096;

/// Whole content without the white space around it. None: unreadable or longer than a page.
[[nodiscard]] std::optional<std::string> read_attribute(const Files& files,
                                                        const std::string& path);
/// A decimal integer; negative values are values ("-1" of numa_node). None: anything else.
[[nodiscard]] std::optional<int64_t> read_integer(const Files& files, const std::string& path);
/// The kernel's CPU list. None: missing or malformed.
[[nodiscard]] std::optional<CpuSet> read_cpu_list(const Files& files, const std::string& path);

/// The number behind `prefix` when that is all there is: ("node12", "node") is 12. None: other
/// text, signs, or more than nine digits.
[[nodiscard]] std::optional<int> number_after(std::string_view name, std::string_view prefix);

/// The value of the first line that starts with `key` followed by ':' or white space, trimmed:
/// "Device Minor: \t 3" and "location_id 6912". None: no such line.
[[nodiscard]] std::optional<std::string_view> line_value(std::string_view text,
                                                         std::string_view key);

}  // namespace muster::nccl
