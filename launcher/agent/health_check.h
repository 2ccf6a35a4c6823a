// HealthCheck: is this node fit for a round, and the way to the others? Looks before the workers
// start, with `muster doctor` in a process of its own. Fails open where nothing can be found out,
// for a broken check must not stop a job; and closed where a fault has a node's name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process/own_child.h"
#include "launcher/doctor/peers_report.h"
#include "launcher/frameworks/agent_context.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

inline constexpr Duration kNodeCheckLimit = std::chrono::seconds(20);  ///< of the node itself
inline constexpr Duration kPairsCheckLimit = std::chrono::minutes(2);  ///< of the way to others

/// What came out.
struct HealthVerdict {
  /// A node of the round that is not fit, and why.
  struct Unfit {
    int node_rank = 0;
    std::string reason;
  };
  std::vector<Unfit> unfit;  ///< for the leader; empty = none that this node is to name
  bool has_fault = false;    ///< some node is not fit, whoever names it: no worker may start
};

class HealthCheck {
 public:
  using Done = std::function<void(HealthVerdict)>;

  /// Both are borrowed.
  HealthCheck(AgentDoors doors, const AgentContext& context)
      : doors_(doors), context_(context), child_(doors.loop, doors.processes) {}

  /// Looks at what the round asks for, with so many workers here. `done` is called once: at once if
  /// nothing is to be looked at, else from the loop; not after cancel().
  void begin(const rendezvous::Assign& round, int workers, Done done);
  void cancel() { child_.cancel(); }

 private:
  void check_pairs();
  void judge_node(const Result<std::string>& printed);
  void judge_pairs(const Result<std::string>& printed);
  void tell(HealthVerdict verdict);
  void ask(std::vector<std::string> words, Environment environment, Duration limit,
           void (HealthCheck::*judge)(const Result<std::string>&));
  void pass_unknown(const std::string& why);
  void log_finding(const nccl::Finding& finding) const;

  AgentDoors doors_;
  const AgentContext& context_;
  OwnChild child_;
  rendezvous::Assign round_;
  Done done_;
  TimePoint began_;
};

/// A record for the leader: that node of the round is not fit.
[[nodiscard]] rendezvous::Failure unfit_record(const HealthVerdict::Unfit& unfit,
                                               const std::string& node);

}  // namespace muster::launcher
