// Memory events: did the kernel's OOM killer end a process of this container? A SIGKILL looks the
// same whoever sent it; only the counter of the memory cgroup tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace muster {

/// The OOM counter of this process's memory cgroup: cgroup v2 memory.events (which counts the
/// groups below too) or memory.events.local, v1 memory.oom_control.
/// Source: kernel Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst (oom_kill: since
/// 4.13).
class MemoryEvents {
 public:
  /// Looks for the file once; says at debug level ("memory_events.unknown") when there is none.
  /// `files` is borrowed for the life of the object.
  explicit MemoryEvents(const Files& files);
  /// Processes of the group that were ended by the OOM killer so far. None: unknown.
  [[nodiscard]] std::optional<uint64_t> oom_kills() const;
  /// The same when this object was made.
  [[nodiscard]] std::optional<uint64_t> oom_kills_at_first() const { return at_first_; }

 private:
  const Files& files_;
  std::string path_;  // "" = unknown
  std::optional<uint64_t> at_first_;
};

/// The value of "oom_kill N" in a file of "key value" lines. None: no such line or no number.
[[nodiscard]] std::optional<uint64_t> parse_oom_kills(std::string_view text);

}  // namespace muster
