#include "base/process/container_watch.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/process/control_groups.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr const char* kSharedMemory = "/dev/shm";
constexpr size_t kMaxLimitFileBytes = 64;
// A writer needs a few blocks more than there are left.
constexpr uint64_t kFullBelowBytes = 1 << 20;

std::optional<uint64_t> pids_max(const Files& files) {
  const auto folders = control_group_folders(files, "pids");
  for (const std::string& folder : folders ? *folders : std::vector<std::string>{}) {
    const auto text = files.read(folder + "/pids.max", kMaxLimitFileBytes);
    if (!text) continue;
    const auto limit = parse_integer(trim(*text));  // or "max"
    if (limit && *limit >= 0) return static_cast<uint64_t>(*limit);
  }
  return std::nullopt;
}

std::vector<ProcessLimit> process_limits(const Files& files) {
  std::vector<ProcessLimit> limits;
  rlimit user{};
  // Root's processes are not counted.
  if (geteuid() != 0 && getrlimit(RLIMIT_NPROC, &user) == 0 && user.rlim_cur != RLIM_INFINITY)
    limits.push_back({user.rlim_cur, "this user (ulimit -u)"});
  if (const auto limit = pids_max(files)) limits.push_back({*limit, "this container (pids.max)"});
  std::ranges::sort(limits, {}, &ProcessLimit::limit);
  return limits;
}

}  // namespace

void ContainerWatch::begin() {
  kills_before_ = memory_events_ ? memory_events_->oom_kills()
                                 : memory_events_.emplace(files_).oom_kills_at_first();
}

ContainerFacts ContainerWatch::facts(const std::vector<std::string>& folders) const {
  ContainerFacts facts;
  const auto kills = memory_events_ ? memory_events_->oom_kills() : std::nullopt;
  if (kills && kills_before_ && *kills > *kills_before_) facts.oom_kills = *kills - *kills_before_;
  if (const auto space = files_.space(kSharedMemory)) facts.shared_memory = *space;
  facts.process_limits = process_limits(files_);
  facts.descriptor_limit = descriptor_limit_;
  for (const std::string& folder : folders) {
    const auto space = files_.space(folder);
    const bool full = space && space->free_bytes < kFullBelowBytes;
    const bool named = std::ranges::find(facts.full_folders, folder) != facts.full_folders.end();
    if (full && !named) facts.full_folders.push_back(folder);
  }
  return facts;
}

}  // namespace muster
