// What an EtcdElection works with: the keys and times of a job's election through etcd, and what it
// asks of whoever runs it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/etcd/etcd_messages.h"

namespace muster::rendezvous {

/// The keys of a job. `mark` outlives a leader: it says that there was one not long ago, and which.
struct EtcdKeys {
  std::string leader;
  std::string mark;
};
/// "/muster" and "job-7" give "/muster/job-7/leader" and "/muster/job-7/job".
[[nodiscard]] EtcdKeys etcd_keys(std::string_view prefix, std::string_view run_id);

/// Times that follow from the job's lease.
struct EtcdTimes {
  Duration lease;     ///< of the leader's key: the job's, in whole seconds, rounded up
  Duration mark;      ///< of the mark: longer than any worker of a lost leader lives on
  Duration renewal;   ///< between two renewals, a sixth of the lease
  Duration patience;  ///< for one request
};
[[nodiscard]] EtcdTimes etcd_times(Duration job_lease);

/// What a campaign won.
struct EtcdOffice {
  TimePoint since;  ///< when its lease was asked for: it runs for `ttl` from then at least
  Duration ttl{};
  int64_t lease = 0;
  int64_t mark_lease = 0;
  int64_t revision = 0;  ///< higher than that of every earlier leader
  bool first = false;    ///< no mark was there: no earlier leader's workers can be alive
  int64_t after = 0;     ///< `revision` of whoever led before, by the mark; 0 = unknown
};

/// What an election asks of whoever runs it; carried out in order.
namespace etcd_output {
/// Read the leader's key, then vacant(), named() or failed().
struct Ask {};
/// Grant a lease, claim the key, see to the mark; then won(), named() or failed().
struct Campaign {};
/// Renew both leases, then kept() when both were, or failed().
struct KeepAlive {
  int64_t lease;
  int64_t mark_lease;
};
/// End that lease; nobody waits for the answer.
struct Depose {
  int64_t lease;
};
/// Give up what is under way, end these leases (0 = none), then resigned() or failed().
struct Resign {
  int64_t lease;
  int64_t mark_lease;
};
/// Give up the campaign and end the lease that it may have got; then resigned() or failed().
struct Withdraw {};
struct Follow {
  EtcdLeader leader;
};
struct Lead {
  EtcdOffice office;
};
struct GiveUp {
  std::string reason;
};
/// The leader in this process goes before anything else is answered.
struct StopLeading {
  std::string reason;
};
struct Closed {};
struct Log {
  log::Level level;
  std::string_view event;  ///< one of events.h
  std::string reason;
};
}  // namespace etcd_output
using EtcdOutput = std::variant<etcd_output::Ask, etcd_output::Campaign, etcd_output::KeepAlive,
                                etcd_output::Depose, etcd_output::Resign, etcd_output::Withdraw,
                                etcd_output::Follow, etcd_output::Lead, etcd_output::GiveUp,
                                etcd_output::StopLeading, etcd_output::Closed, etcd_output::Log>;

}  // namespace muster::rendezvous
