// ContainerWatch: what this container had when a worker failed. Shortages of a container show as an
// exit code or a signal of whoever met them first; here the numbers are read that tell them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process/memory_events.h"

namespace muster {

/// One that processes and threads count against.
struct ProcessLimit {
  uint64_t limit = 0;
  std::string of;  ///< "this user (ulimit -u)"
};

/// What could not be read is missing.
struct ContainerFacts {
  uint64_t oom_kills = 0;  ///< processes here that the OOM killer ended since begin()
  std::optional<FileSystemSpace> shared_memory;  ///< of /dev/shm
  std::vector<ProcessLimit> process_limits;      ///< the smallest first; without the unlimited
  uint64_t descriptor_limit = 0;                 ///< soft RLIMIT_NOFILE of workers; 0 = unlimited
  std::vector<std::string> full_folders;         ///< of those that were asked for
};

class ContainerWatch {
 public:
  /// `files` is borrowed for the life of the object. Reads nothing yet.
  ContainerWatch(const Files& files, unsigned long descriptor_limit)
      : files_(files), descriptor_limit_(descriptor_limit) {}
  /// From now on the kills of facts() are counted.
  void begin();
  /// `folders`: where workers may have written.
  [[nodiscard]] ContainerFacts facts(const std::vector<std::string>& folders) const;

 private:
  const Files& files_;
  unsigned long descriptor_limit_;
  std::optional<MemoryEvents> memory_events_;  // made by the first begin()
  std::optional<uint64_t> kills_before_;
};

}  // namespace muster
