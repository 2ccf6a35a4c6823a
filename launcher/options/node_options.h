// NodeOptions: the part of Options that only a job of many nodes reads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ip_network.h"

namespace muster::launcher {

/// The flags of the same names; what they mean: rendezvous/messages/job_options.h,
/// elastic/round_policy.h.
struct NodeOptions {
  std::string name;          ///< of this node; "" = not given
  int step = 1;              ///< --nnodes-step
  std::vector<int> allowed;  ///< --nnodes-allowed, sorted; empty = every size of the range
  int spares = 0;
  bool rsh = false;
  std::vector<IpNetwork> admit;  ///< --admit
  std::string hosts;             ///< --hosts as given: a list, or "@file"; "" = not given
  Duration lease = std::chrono::seconds(30);
  Duration replace_wait = std::chrono::seconds(30);
  Duration scale_up_interval = std::chrono::minutes(5);
  Duration scale_up_quiet = std::chrono::minutes(1);
  std::optional<int> preempt_signal;       ///< none = the signal that came
  bool preempt_notify_all = false;         ///< else the leaving node's workers only
  std::optional<Duration> restart_window;  ///< none = every restart counts, however long ago
};

}  // namespace muster::launcher
