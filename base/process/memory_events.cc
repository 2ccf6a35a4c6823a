#include "base/process/memory_events.h"

#include <vector>

#include "base/log.h"
#include "base/process/control_groups.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxEventFileBytes = 64 << 10;
// Of version 1; of the unified hierarchy, with the groups below and without.
constexpr std::string_view kFiles[] = {"memory.oom_control", "memory.events",
                                       "memory.events.local"};

std::optional<uint64_t> read_oom_kills(const Files& files, const std::string& path) {
  const auto text = files.read(path, kMaxEventFileBytes);
  // Missing is one of the answers: not every kernel and container has every file.
  return text ? parse_oom_kills(*text) : std::nullopt;
}

}  // namespace

std::optional<uint64_t> parse_oom_kills(std::string_view text) {
  constexpr std::string_view kKey = "oom_kill ";
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const auto count = parse_integer(trim(line.substr(kKey.size())));
    if (!count || *count < 0) return std::nullopt;
    return static_cast<uint64_t>(*count);
  }
  return std::nullopt;
}

MemoryEvents::MemoryEvents(const Files& files) : files_(files) {
  const auto folders = control_group_folders(files, "memory");
  for (const std::string& folder : folders ? *folders : std::vector<std::string>{}) {
    for (const std::string_view file : kFiles) {
      const std::string path = folder + "/" + std::string(file);
      at_first_ = read_oom_kills(files, path);
      if (!at_first_) continue;
      path_ = path;
      return;
    }
  }
  log::debug(
      "memory_events.unknown",
      {{"reason", folders ? "no memory cgroup with an oom_kill counter" : folders.error().text},
       {"instead", "a SIGKILL by the OOM killer is reported as killed from outside"}});
}

std::optional<uint64_t> MemoryEvents::oom_kills() const {
  return path_.empty() ? std::nullopt : read_oom_kills(files_, path_);
}

}  // namespace muster
