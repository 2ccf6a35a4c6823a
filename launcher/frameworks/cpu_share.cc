#include "launcher/frameworks/cpu_share.h"

#include <algorithm>
#include <string>

#include "base/cpu_set.h"
#include "launcher/frameworks/pytorch.h"
#include "nccl/cpu_quota.h"

namespace muster::launcher {

int usable_cpus(const Files& files) {
  const auto allowed = allowed_cpus();
  if (!allowed) return 0;
  const int cpus = static_cast<int>(allowed->size());
  const auto quota = nccl::read_cpu_quota(files);
  return quota ? std::clamp(static_cast<int>(quota->cpus), 1, cpus) : cpus;
}

std::optional<PlannedVariable> thread_share(int cpus, int workers) {
  if (workers < 2 || cpus == 0) return std::nullopt;
  return PlannedVariable{std::string(kThreadsVariable), std::to_string(std::max(1, cpus / workers)),
                         "several workers share this node's CPUs", "--nproc-per-node"};
}

}  // namespace muster::launcher
