#include "launcher/agent/node_facts.h"

#include <algorithm>

namespace muster::launcher {

std::vector<WorkerProcess> worker_processes(const LocalGroup& group) {
  std::vector<WorkerProcess> workers;
  const int most = std::max(group.plan().local_world_size(), 1);  // a launcher has no ranks here
  for (int local_rank = 0; local_rank < most; ++local_rank) {
    if (const auto pid = group.pid_of(local_rank))
      workers.push_back({group.plan().rank_of(local_rank), *pid});
  }
  return workers;
}

}  // namespace muster::launcher
