// JobOptions: what all nodes of a job must agree on, and the times derived from the lease. Plain
// values; the command line fills them (torchrun's --rdzv-conf keys: see apply_rdzv_conf).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "rendezvous/messages/health_checks.h"
#include "rendezvous/messages/job_settings.h"
#include "rendezvous/messages/round_rule.h"

namespace muster::rendezvous {

/// The run id of jobs that nobody named: torchrun's default.
inline constexpr std::string_view kUnnamedJob = "none";
inline constexpr Duration kMinLease = std::chrono::seconds(2);

struct JobOptions {
  std::string run_id;
  bool secured = false;  ///< a job secret protects the control connections (TLS-PSK)

  int min_nodes = 1;
  int max_nodes = 1;
  int nodes_step = 1;              ///< --nnodes-step: sizes are min, min + step, ...
  std::vector<int> allowed_nodes;  ///< --nnodes-allowed, sorted; empty = every size of the range
  int spares = 0;            ///< --spares: that may be there beyond max; nobody waits for them
  bool known_nodes = false;  ///< static backend: exactly max_nodes, each with its node rank

  RoundRule rule;  ///< of its rounds: what the framework asks for
  /// What the job runs, and how its workers are started, in the user's words: compared with the
  /// other nodes' only. `start` without a flag: there is one way.
  std::string framework = "pytorch";
  Setting start = {};
  /// False: a node that never leads was not told them; min and max mean nothing then.
  bool sizes_known = true;
  /// Names that nodes will have, as far as they are known, for messages about who is missing.
  std::vector<std::string> expected_nodes;
  /// "host:port" of all who may lead, in their order; empty: each node read a list of its own, or
  /// one alone may lead.
  std::vector<std::string> leaders;

  /// After min was reached, for more than min: from the last arrival within the join timeout.
  Duration last_call = std::chrono::seconds(30);
  Duration join_timeout = std::chrono::minutes(10);  ///< to min, from the first try or a loss
  Duration lease = std::chrono::seconds(30);         ///< silence that expels; >= kMinLease
  Duration replace_wait = std::chrono::seconds(30);  ///< for a lost node's successor
  Duration stop_grace = std::chrono::seconds(30);    ///< SIGTERM to SIGKILL
  Duration lost_grace = std::chrono::seconds(2);  ///< the same when a node is lost: survivors wait
  HealthChecks health_checks = HealthChecks::kOff;     ///< before each round
  Duration health_cooldown = std::chrono::minutes(1);  ///< that an unfit node stays out at first
  bool preempt_notify_all = false;  ///< --preempt-notify all: every node gets the checkpoint signal
  std::vector<Setting> leader_settings;  ///< what the leader's policy was told, for comparison
};

/// Times that follow from the lease. Their sum keeps two sides of a split network apart: a leader
/// acknowledges nothing once it cannot tell of a quorum that it followed it within `touch`, and an
/// agent kills its workers `fence` after it sent the last acknowledged heartbeat: together less
/// than a lease.
struct LeaseTimes {
  Duration heartbeat;  ///< 1.2 s, or a twentieth of a shorter lease
  Duration suspect;    ///< 3 s, or a tenth of a shorter lease
  Duration touch;      ///< suspect + heartbeat: a heartbeat proves what was when its echo was sent
  Duration fence;      ///< 0.8 lease
  Duration lease;
};
[[nodiscard]] LeaseTimes lease_times(Duration lease);

/// How many nodes there may be at a time, in rounds and as spares: what --nnodes and --spares say,
/// or as many as are listed, if these are more.
[[nodiscard]] int most_nodes(const JobOptions& options);

/// kUsage, naming flag and value: min > max, sizes that no number of nodes meets, lease too short.
Status check(const JobOptions& options);

/// Is a round of `nodes` allowed by min, max, step and list?
[[nodiscard]] bool size_allowed(const JobOptions& options, int nodes);
/// Is every size from min to max?
[[nodiscard]] bool every_size_allowed(const JobOptions& options);
/// The largest allowed size <= `nodes`; none = too few.
[[nodiscard]] std::optional<int> largest_allowed(const JobOptions& options, int nodes);

/// torchrun's keys that mean something here: join_timeout, last_call_timeout (whole seconds > 0),
/// keep_alive_interval x keep_alive_max_attempt (the lease, when both or one are given). Others
/// are ignored: whoever read them has said so. kUsage: not a positive number.
Status apply_rdzv_conf(JobOptions& options, const std::map<std::string, std::string>& conf);

}  // namespace muster::rendezvous
