// EtcdElection: one agent's part in the election of the job's leader through etcd. The holder of a
// lease has the key of the run id and leads; the others learn its address from the key. The states
// are in etcd_table.h, this object drives them; no I/O, no clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "rendezvous/etcd/etcd_messages.h"
#include "rendezvous/etcd/etcd_output.h"
#include "rendezvous/etcd/etcd_table.h"

namespace muster::rendezvous {

class EtcdElection {
 public:
  explicit EtcdElection(EtcdTimes times) : times_(times) {}
  /// As this agent would be named. Before the first answer.
  void set_self(EtcdLeader self) { self_ = std::move(self); }

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
  /// `ttl` of the renewal sent at `sent`, the shorter of both leases'; zero: one of them is gone,
  /// or the key.
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
  EtcdLeader self_;
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
