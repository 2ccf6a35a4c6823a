// Preemption: what the workers of one node get when some node of the job is told to go. Pure; who
// tells whom is the leader's business (rendezvous/leader/leader.h).
#pragma once

#include <csignal>
#include <string>

#include "base/clock.h"

namespace muster::elastic {

struct PreemptionOptions {
  int signal = SIGTERM;     ///< --preempt-signal: "save now"
  bool notify_all = false;  ///< --preempt-notify all: also on nodes that stay
};

struct PreemptionPlan {
  int signal = 0;      ///< 0 = the workers are not told
  std::string reason;  ///< one line for the log
};

/// `grace` is all the time the leaving node has, from its notice to its end: half of it belongs to
/// saving, half to stopping (as in the leader). A grace of zero tells nobody.
[[nodiscard]] PreemptionPlan plan_preemption(const PreemptionOptions& options, bool leaver_is_self,
                                             Duration grace, const std::string& leaver);

}  // namespace muster::elastic
