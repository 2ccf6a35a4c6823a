// What a LocalGroup (local_group.h) tells and asks whoever conducts the job.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "elastic/failure.h"
#include "launcher/frameworks/worker_network.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// All may call the group. `decide`, `round` and `network` come from inside of its methods, the
/// others from the loop too.
struct LocalGroupCallbacks {
  /// Before each attempt: the round in which its workers meet; the attempt's number is not looked
  /// at. An error is a failed start.
  std::function<Result<rendezvous::Assign>()> round;
  /// What they are told of its network; none = nothing, as on one node.
  std::function<WorkerNetwork()> network = {};
  /// All workers of the attempt were spawned.
  std::function<void()> started;
  /// A worker failed, or one could not be started (the record, of this node's own failures).
  std::function<void(const elastic::FailureRecord&, bool would_fail_again)> failed;
  /// A worker failed that starts again alone if that is allowed: answer with resolve().
  std::function<void(int local_rank, const std::string& failure)> failed_alone = {};
  /// The attempt failed and nothing of it is left: answer with restart().
  std::function<void()> decide;
  /// After notify(): the ranks that another node's launcher had started here have ended, and the
  /// attempt goes on.
  std::function<void()> saved;
  /// Right before a worker is recorded that ended by a key of the terminal (SIGINT, SIGQUIT): no
  /// attempt follows. None: the job is not one program at a terminal, wherever it is started.
  std::function<void(int signal)> interrupted = {};
  /// Nothing is left and no attempt follows: all_succeeded() tells how it went.
  std::function<void()> finished;
};

}  // namespace muster::launcher
