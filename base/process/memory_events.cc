#include "base/process/memory_events.h"

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr std::string_view kUnifiedMount = "/sys/fs/cgroup";
constexpr std::string_view kV1MemoryMount = "/sys/fs/cgroup/memory";
constexpr size_t kMaxCgroupFileBytes = 64 << 10;  // a line for each of a dozen hierarchies

// Where this process is, in both kinds of hierarchy. None: not a member of that kind.
struct Membership {
  std::optional<std::string> unified;    // of "0::/path"
  std::optional<std::string> v1_memory;  // of "4:memory:/path"
};

// A path that leads upwards belongs to a group outside our cgroup namespace: it names nothing here.
std::string path_below_mount(std::string_view path) {
  return path == "/" || path.find("/..") != std::string_view::npos ? "" : std::string(path);
}

// Lines "hierarchy:controller,controller:path"; a path may hold colons. (man 7 cgroups)
Membership parse_membership(std::string_view text) {
  Membership found;
  for (const std::string_view line : split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = split(line.substr(first + 1, second - first - 1), ',');
    const std::string path = path_below_mount(line.substr(second + 1));
    if (line.substr(0, first) == "0") found.unified = path;
    if (std::find(controllers.begin(), controllers.end(), "memory") != controllers.end()) {
      found.v1_memory = path;
    }
  }
  return found;
}

// In the order of trust: memory lives in one hierarchy only, and where v1 has it, v2 has not.
std::vector<std::string> candidates(const Membership& membership) {
  std::vector<std::string> paths;
  const auto add = [&paths](std::string_view mount, const std::string& group,
                            std::string_view file) {
    paths.push_back(std::string(mount) + group + "/" + std::string(file));
  };
  if (membership.v1_memory) {
    add(kV1MemoryMount, *membership.v1_memory, "memory.oom_control");
    add(kV1MemoryMount, "", "memory.oom_control");
  }
  if (membership.unified) {
    for (const std::string& group : {*membership.unified, std::string()}) {
      add(kUnifiedMount, group, "memory.events");
      add(kUnifiedMount, group, "memory.events.local");
    }
  }
  return paths;
}

std::optional<uint64_t> read_oom_kills(const Files& files, const std::string& path) {
  const auto text = files.read(path, kMaxCgroupFileBytes);
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

bool oom_kills_rose(std::optional<uint64_t> before, std::optional<uint64_t> after) {
  return before && after && *after > *before;
}

MemoryEvents::MemoryEvents(const Files& files) : files_(files) {
  const auto membership = files.read("/proc/self/cgroup", kMaxCgroupFileBytes);
  if (membership) {
    for (const std::string& path : candidates(parse_membership(*membership))) {
      at_first_ = read_oom_kills(files, path);
      if (!at_first_) continue;
      path_ = path;
      return;
    }
  }
  log::debug("memory_events.unknown",
             {{"reason",
               membership ? "no memory cgroup with an oom_kill counter" : membership.error().text},
              {"instead", "a SIGKILL by the OOM killer is reported as killed from outside"}});
}

std::optional<uint64_t> MemoryEvents::oom_kills() const {
  return path_.empty() ? std::nullopt : read_oom_kills(files_, path_);
}

}  // namespace muster
