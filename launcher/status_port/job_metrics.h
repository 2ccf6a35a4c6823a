// The metrics of a node and, where it leads, of its job: made of what the agent tells when it is
// asked. Pure. docs/observability.md has a table of them, which a test compares with this file.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process_usage.h"
#include "launcher/status_port/exposition.h"
#include "launcher/timeline/job_timeline.h"

namespace muster::launcher {

struct WorkerUsage {
  int rank = 0;
  pid_t pid = 0;
  ProcessUsage usage;
};

/// What is known at one moment.
struct MetricFacts {
  std::string status;  ///< status_answer.h: of the job from its leader, else what a follower knows
  std::string job;
  std::string node;
  bool leads = false;
  std::string progress;              ///< of the workers of this node, as JSON; "" = nothing
  std::optional<JobTimes> times;     ///< JobTimeline::times; counts where this node leads
  size_t worker_count = 0;           ///< that live
  std::vector<WorkerUsage> workers;  ///< those of them that were measured
  uint64_t lines_dropped = 0;        ///< that could not be shown
  WallTime started;                  ///< of the agent
};

[[nodiscard]] std::string job_metrics(const MetricFacts& facts, ExpositionFormat format);

/// Every family that job_metrics() may write, in its order.
[[nodiscard]] std::span<const MetricFamily> metric_families();

}  // namespace muster::launcher
