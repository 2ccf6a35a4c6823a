#include "nccl/machine/limits.h"

#include <string>

#include "base/text.h"

namespace muster::nccl {
namespace {

constexpr size_t kMaxLimitsBytes = 16 * 1024;  // a real file has 1.3 KiB

// Outer none: malformed; inner none: unlimited.
std::optional<std::optional<uint64_t>> parse_bound(std::string_view word) {
  if (word == "unlimited") return std::optional<uint64_t>();
  const auto value = parse_integer(word);
  if (!value || *value < 0) return std::nullopt;
  return std::optional<uint64_t>(static_cast<uint64_t>(*value));
}

Limit parse_row(std::string_view rest) {
  const auto words = words_of(rest);
  if (words.size() < 2) return {};
  const auto soft = parse_bound(words[0]);
  const auto hard = parse_bound(words[1]);
  if (!soft || !hard) return {};
  return {true, *soft, *hard};
}

}  // namespace

Limits parse_limits(std::string_view text) {
  Limits limits;
  for (const std::string_view line : split(text, '\n')) {
    for (const auto& [name, limit] :
         {std::pair<std::string_view, Limit*>{"Max locked memory ", &limits.locked_bytes},
          {"Max open files ", &limits.open_files},
          {"Max stack size ", &limits.stack_bytes},
          {"Max processes ", &limits.processes}}) {
      if (line.starts_with(name)) *limit = parse_row(line.substr(name.size()));
    }
  }
  return limits;
}

Limits read_limits(const MachineView& view) {
  if (view.source == MachineSource::kRecorded) {
    const auto recorded = view.files.read("/ulimits", kMaxLimitsBytes);
    if (recorded) return parse_limits(*recorded);
  }
  const auto text = view.files.read("/proc/self/limits", kMaxLimitsBytes);
  return text ? parse_limits(*text) : Limits();
}

}  // namespace muster::nccl
