// What a LocalGroup (local_group.h) tells and asks whoever conducts the job.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/process.h"
#include "base/result.h"
#include "elastic/failure.h"
#include "launcher/workers/worker_plan.h"

namespace muster::launcher {

/// All may call the group. `decide` and `prepare` come from inside of its methods, the others from
/// the loop too.
struct LocalGroupCallbacks {
  /// Before each attempt: where its workers meet, who starts them. An error is a failed start.
  std::function<Result<AttemptFacts>()> prepare;
  /// All workers of the attempt were spawned.
  std::function<void()> started;
  /// A worker failed, or one could not be started (the record, of this node's own failures).
  std::function<void(const elastic::FailureRecord&, bool would_fail_again)> failed;
  /// The attempt failed and nothing of it is left: answer with restart_after() or refuse_restart().
  std::function<void()> decide;
  /// Nothing is left and no attempt follows: all_succeeded() tells how it went.
  std::function<void()> finished;
  std::function<void(const Reaped&)> other_exited = {};  ///< SupervisorCallbacks; may be empty
  /// Ranks of several nodes give this to an exchange (rendezvous/agreement/exchange.h), numbered
  /// from 0 in each attempt: answer with exchanged(). Empty with one node.
  std::function<void(uint64_t sequence, std::string bytes)> exchange = {};
  std::function<bool()> serving = {};  ///< this node runs something for others; may be empty
};

}  // namespace muster::launcher
