// SimulatedEtcd: what an etcd does with the keys of one job: leases, the leader's key, the mark. It
// never forgets; whether it can be reached is the world's business.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "rendezvous/etcd/etcd_election.h"

namespace muster::simulation {

class SimulatedEtcd {
 public:
  struct Key {
    rendezvous::EtcdLeader leader;
    int64_t lease = 0;
  };

  /// The leader's key, unless its lease is over.
  [[nodiscard]] std::optional<Key> leader(TimePoint now) const {
    return leader_ && alive(leader_->lease, now) ? leader_ : std::nullopt;
  }
  /// None: somebody has it.
  std::optional<rendezvous::EtcdOffice> claim(TimePoint now, const rendezvous::EtcdLeader& who,
                                              const rendezvous::EtcdTimes& times) {
    if (leader(now)) return std::nullopt;
    rendezvous::EtcdOffice office;
    office.ttl = times.lease;
    office.lease = grant(now, times.lease);
    office.revision = ++revision_;
    office.first = !alive(mark_, now);
    if (office.first) mark_ = grant(now, times.mark);
    office.after = office.first ? 0 : marked_;
    marked_ = office.revision;
    office.mark_lease = mark_;
    (void)renew(now, mark_);
    leader_ = Key{who, office.lease};
    return office;
  }
  /// Zero: it is over.
  Duration renew(TimePoint now, int64_t lease) {
    if (!alive(lease, now)) return Duration::zero();
    leases_[lease].until = now + leases_[lease].ttl;
    return leases_[lease].ttl;
  }
  void revoke(int64_t lease) { leases_.erase(lease); }
  /// After it was down: leases begin anew.
  void restart(TimePoint now) {
    for (auto& [id, lease] : leases_) lease.until = now + lease.ttl;
  }
  [[nodiscard]] bool alive(int64_t lease, TimePoint now) const {
    const auto found = leases_.find(lease);
    return found != leases_.end() && now < found->second.until;
  }

 private:
  struct Lease {
    Duration ttl{};
    TimePoint until;
  };
  int64_t grant(TimePoint now, Duration ttl) {
    leases_[++last_lease_] = {ttl, now + ttl};
    return last_lease_;
  }

  std::map<int64_t, Lease> leases_;
  int64_t last_lease_ = 0;
  int64_t revision_ = 0;
  // its lease, its value
  int64_t mark_ = 0;
  int64_t marked_ = 0;
  std::optional<Key> leader_;
};

/// Where it is.
struct EtcdPlace {
  SimulatedEtcd service;
  TimePoint down_until{};
  int side = 0;  ///< of the network
  [[nodiscard]] bool answers(TimePoint now, int asking_side) const {
    return now >= down_until && asking_side == side;
  }
};

/// What an answer does to who asked.
using EtcdReply = std::function<void(rendezvous::EtcdElection&)>;

}  // namespace muster::simulation
