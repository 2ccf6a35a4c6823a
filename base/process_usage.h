// What processes use, read from /proc: CPU time and resident memory, of one or of all below it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace muster {

/// Processes of one tree that are looked at: each costs two small reads.
inline constexpr size_t kMaxMeasuredProcesses = 256;

struct ProcessUsage {
  Duration cpu{};               ///< user and system, also of children that were waited for
  uint64_t resident_bytes = 0;  ///< pages that processes share count for each of them
  int processes = 0;
};

/// Of the text of /proc/<pid>/stat (proc(5)), with so many clock ticks a second and bytes a page.
/// None: it is no such text.
[[nodiscard]] std::optional<ProcessUsage> usage_in_stat(std::string_view stat, int64_t ticks,
                                                        int64_t page_bytes);

/// Of `root` and of everything below it, the first kMaxMeasuredProcesses. What is gone counts
/// nothing. O(threads of these processes).
[[nodiscard]] ProcessUsage usage_of_tree(pid_t root);

}  // namespace muster
