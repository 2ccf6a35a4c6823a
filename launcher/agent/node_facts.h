// NodeFacts: how this node is, for whoever asks: the status port. Values, made when they are asked.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "launcher/workers/local_group.h"

namespace muster::launcher {

/// A worker whose process lives, or the process that launches all of them.
struct WorkerProcess {
  int rank = 0;
  pid_t pid = 0;
};

struct NodeFacts {
  /// As `muster status --json` gets it (serving/status_answer.h): long in a job of many nodes, so
  /// made for those alone who show it, and at once.
  std::function<std::string()> status;
  bool leads = false;  ///< `status` is the word of the job's leader, which is this agent
  bool stops = false;  ///< it was told to go, or the job is over for it
  std::vector<WorkerProcess> workers;  ///< by local rank
};

[[nodiscard]] std::vector<WorkerProcess> worker_processes(const LocalGroup& group);

}  // namespace muster::launcher
