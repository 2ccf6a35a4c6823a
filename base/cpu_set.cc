#include "base/cpu_set.h"

#include <sched.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "base/text.h"

namespace muster {

std::optional<CpuSet> parse_cpu_list(std::string_view text) {
  CpuSet cpus;
  text = trim(text);
  if (text.empty()) return cpus;
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMaxCpus) return std::nullopt;
    for (int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string format_cpu_list(const CpuSet& cpus) {
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (end - i > 1) text += '-' + std::to_string(cpus[end - 1]);
    i = end;
  }
  return text;
}

CpuSet intersect(const CpuSet& a, const CpuSet& b) {
  CpuSet both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

Result<CpuSet> allowed_cpus() {
  const size_t bytes = CPU_ALLOC_SIZE(kMaxCpus);
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> mask(
      CPU_ALLOC(kMaxCpus), [](cpu_set_t* set) { CPU_FREE(set); });
  CPU_ZERO_S(bytes, mask.get());
  if (sched_getaffinity(0, bytes, mask.get()) != 0) return os_error("sched_getaffinity");
  CpuSet cpus;
  for (int cpu = 0; cpu < kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, mask.get())) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace muster
