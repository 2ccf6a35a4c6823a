// CpuShare: how many threads each worker of a node gets, for frameworks that have threads where
// others have processes.
#pragma once

#include <optional>

#include "base/environment_plan.h"
#include "base/files.h"

namespace muster::launcher {

/// OMP_NUM_THREADS: an equal share of what affinity and quota leave to this node's processes, at
/// least 1. None: one worker may use all. `files` null: the job has not begun (`muster env`).
[[nodiscard]] std::optional<PlannedVariable> thread_share(const Files* files, int workers);

}  // namespace muster::launcher
