#include "base/process_usage.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "base/files.h"
#include "base/process_tree.h"
#include "base/text.h"

namespace muster {

namespace {

// Places of the fields behind "pid (comm) ", by proc(5), where state is the third.
constexpr size_t kUserTime = 14 - 3;
constexpr size_t kLastTime = kUserTime + 3;  // stime, cutime, cstime follow
constexpr size_t kResidentPages = 24 - 3;

void add(ProcessUsage& sum, pid_t pid, int64_t ticks, int64_t page_bytes) {
  const auto text = RealFiles().read("/proc/" + std::to_string(pid) + "/stat");
  const auto usage = text ? usage_in_stat(*text, ticks, page_bytes) : std::nullopt;
  if (!usage) return;
  sum.cpu += usage->cpu;
  sum.resident_bytes += usage->resident_bytes;
  ++sum.processes;
}

}  // namespace

std::optional<ProcessUsage> usage_in_stat(std::string_view stat, int64_t ticks,
                                          int64_t page_bytes) {
  // The name of a program may hold anything.
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string_view::npos || ticks < 1) return std::nullopt;
  const auto fields = split(trim(stat.substr(name_end + 2)), ' ');
  if (fields.size() <= kResidentPages) return std::nullopt;
  int64_t time = 0;
  for (size_t i = kUserTime; i <= kLastTime; ++i) {
    const auto part = parse_integer(fields[i]);
    if (!part || *part < 0) return std::nullopt;
    time += *part;
  }
  const auto pages = parse_integer(fields[kResidentPages]);
  if (!pages || *pages < 0) return std::nullopt;
  ProcessUsage usage;
  usage.cpu = std::chrono::nanoseconds(std::chrono::seconds(time / ticks)) +
              std::chrono::nanoseconds(std::chrono::seconds(time % ticks)) / ticks;
  usage.resident_bytes = static_cast<uint64_t>(*pages) * static_cast<uint64_t>(page_bytes);
  usage.processes = 1;
  return usage;
}

ProcessUsage usage_of_tree(pid_t root) {
  const int64_t ticks = sysconf(_SC_CLK_TCK);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  ProcessUsage sum;
  add(sum, root, ticks, page_bytes);
  for (const Descendant& each : descendants_of(root, {}, kMaxMeasuredProcesses - 1)) {
    add(sum, each.pid, ticks, page_bytes);
  }
  return sum;
}

}  // namespace muster
