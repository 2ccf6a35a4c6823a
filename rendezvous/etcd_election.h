// EtcdElection: one agent's part in the election of the job's leader through etcd. The holder of a
// lease has the key of the run id and leads; the others learn its address from the key. The states
// are in etcd_table.h, this object drives them; no I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/etcd_messages.h"
#include "rendezvous/etcd_table.h"

namespace muster::rendezvous {

/// The keys of a job. `mark` outlives a leader: it says that there was one not long ago.
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
};

/// What an election asks of whoever runs it; carried out in order.
namespace etcd_output {
/// Read the leader's key, then vacant(), named() or failed().
struct Ask {};
/// Grant a lease, claim the key, see to the mark; then won(), named() or failed().
struct Campaign {};
/// Renew both leases, then kept(), or failed().
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
                                etcd_output::Depose, etcd_output::Resign, etcd_output::Follow,
                                etcd_output::Lead, etcd_output::GiveUp, etcd_output::StopLeading,
                                etcd_output::Closed, etcd_output::Log>;

class EtcdElection {
 public:
  explicit EtcdElection(EtcdTimes times) : times_(times) {}
  /// Under which peers reach this agent. Before the first answer.
  void set_self(Address self) { self_ = std::move(self); }

  // The member's side.
  void seek(TimePoint now);
  /// The leader followed last took us in; later its machine refused a connection.
  void linked() { linked_lease_ = followed_lease_; }
  void refused();
  /// The leader here ended. `job_over`: every node knows how the job ended.
  void step_down(TimePoint now, bool job_over);
  void end(TimePoint now);

  // etcd's answers.
  void vacant(TimePoint now);
  void named(TimePoint now, const EtcdLeader& leader, int64_t lease);
  void won(TimePoint now, const EtcdOffice& office);
  /// `ttl` of the renewal sent at `sent`; zero: the lease is gone.
  void kept(TimePoint now, TimePoint sent, Duration ttl);
  void resigned(TimePoint now);
  void failed(TimePoint now, std::string reason);

  void tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;
  [[nodiscard]] std::vector<EtcdOutput> take_outputs();
  [[nodiscard]] EtcdState state() const { return state_; }
  /// The key is ours, and cannot have become another's: at most 0.8 of its lease are over.
  [[nodiscard]] bool may_lead(TimePoint now) const;

 private:
  void handle(TimePoint now, EtcdEvent event);
  void perform(TimePoint now, EtcdAction action);
  void resign();
  void log(log::Level level, std::string_view event, std::string reason);

  const EtcdTimes times_;
  Address self_;
  EtcdState state_ = EtcdState::kIdle;
  std::vector<EtcdOutput> outputs_;
  EtcdLeader leader_;           // named last
  int64_t named_lease_ = 0;     // of its key
  int64_t followed_lease_ = 0;  // of the leader that the member was sent to last
  int64_t linked_lease_ = 0;    // of the leader that took the member in
  int64_t dead_lease_ = 0;      // of a leader that is known to have ended, or ours that we gave up
  EtcdOffice office_;
  TimePoint valid_until_;
  TimePoint renew_at_;
  bool renewing_ = false;
  bool job_over_ = false;
  std::string reason_;        // of what is handled now
  std::string last_trouble_;  // said already
};

}  // namespace muster::rendezvous
