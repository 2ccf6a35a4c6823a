// How many nodes a job shall have, within its sizes: what a list of hosts says, else what somebody
// asked for while it runs (`muster scale`), else as many as may be. Pure.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "rendezvous/messages/agent_messages.h"
#include "rendezvous/messages/job_options.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::rendezvous {

class TargetSize {
 public:
  /// What the list of hosts says; none = there is none. kUsage: no allowed size, and nothing
  /// changed.
  Status follow_list(std::optional<int> nodes, const JobOptions& options);
  /// Somebody asks the leader of `term` for `nodes`, 0 = as many as may be; a launcher apart is not
  /// counted. `at_once`: hurried() until a round has them. kUsage: no allowed size, or somebody
  /// else says how many.
  Status ask(int nodes, bool at_once, uint64_t term, const JobOptions& options);
  /// What another agent knows of earlier requests. Leaders that did not know of each other's may
  /// have used the same numbers: of two the one that a later leader took counts.
  void learn(const std::optional<SizeRequest>& request, const JobOptions& options);

  /// Of JobOptions' sizes; none = as many as may be.
  [[nodiscard]] std::optional<int> nodes() const;
  /// The last request, for the other agents.
  [[nodiscard]] const std::optional<SizeRequest>& asked() const { return asked_; }

  /// What the policy says to growth, unless this size was asked for at once. The next leader does
  /// not know of that.
  [[nodiscard]] GrowVerdict hurried(GrowVerdict verdict) const;
  /// A round of so many nodes begins.
  void reached(int nodes, const JobOptions& options);

 private:
  bool at_once_ = false;
  std::optional<int> listed_;
  std::optional<SizeRequest> asked_;
};

/// "2, 4 or 8 nodes", "2 to 64 nodes"; a launcher apart is not counted.
[[nodiscard]] std::string sizes_text(const JobOptions& options);

}  // namespace muster::rendezvous
