// CpuShare: how many threads each worker of a node gets, for frameworks that have threads where
// others have processes.
#pragma once

#include <optional>

#include "base/environment_plan.h"
#include "base/files.h"

namespace muster::launcher {

/// CPUs that the processes of this node may use, by affinity and quota; 0 = unknown.
[[nodiscard]] int usable_cpus(const Files& files);

/// OMP_NUM_THREADS: an equal share, at least 1. None: one worker may use all, or nothing is known.
[[nodiscard]] std::optional<PlannedVariable> thread_share(int cpus, int workers);

}  // namespace muster::launcher
