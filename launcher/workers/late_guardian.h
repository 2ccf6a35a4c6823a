// LateGuardian: the agent's guardian (base/process/guardian.h), started a moment after the workers.
// It protects against the agent's own sudden death, and must not compete with the workers for the
// CPUs at the moment that counts.
#pragma once

#include <optional>
#include <string>

#include "base/process/guardian.h"
#include "base/process/supervisor.h"
#include "launcher/frameworks/agent_context.h"

namespace muster::launcher {

class LateGuardian {
 public:
  /// `context` and `supervisor` are borrowed.
  LateGuardian(AgentDoors doors, const AgentContext& context, Supervisor& supervisor)
      : doors_(doors), context_(context), supervisor_(supervisor) {}

  /// Starts it in a moment, once. As PID 1 there is none: the kernel ends the namespace.
  void begin();
  /// The attempt's folder in a temporary one; it goes if it is empty in the end.
  void attempt_has(const std::string& folder);
  /// Everything is gone already.
  void dismiss();

 private:
  void start();

  AgentDoors doors_;
  const AgentContext& context_;
  Supervisor& supervisor_;
  std::optional<Guardian> guardian_;
  std::string folder_;  // of the attempt, until the guardian knows it
  Timer timer_;
};

}  // namespace muster::launcher
