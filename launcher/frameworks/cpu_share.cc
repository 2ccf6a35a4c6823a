#include "launcher/frameworks/cpu_share.h"

#include <algorithm>
#include <string>

#include "base/cpu_set.h"
#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/pytorch.h"
#include "nccl/machine/cpu_quota.h"

namespace muster::launcher {

namespace {

// At least 1, also where nothing can be read.
int usable_cpus(const Files& files) {
  const auto allowed = allowed_cpus();
  const int cpus = allowed ? std::max(1, static_cast<int>(allowed->size())) : 1;
  const auto quota = nccl::read_cpu_quota(files);
  return quota ? std::clamp(static_cast<int>(quota->cpus), 1, cpus) : cpus;
}

}  // namespace

std::optional<PlannedVariable> thread_share(const Files* files, int workers) {
  if (workers < 2) return std::nullopt;
  std::string threads(kMadeAtStart);
  if (files != nullptr) threads = std::to_string(std::max(1, usable_cpus(*files) / workers));
  return PlannedVariable{std::string(kThreadsVariable), std::move(threads),
                         "its share of the CPUs of this node", "--nproc-per-node"};
}

}  // namespace muster::launcher
