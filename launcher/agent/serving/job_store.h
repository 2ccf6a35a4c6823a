// JobStore: the one port of this job and the store behind it. Knows where the workers will dial;
// the protocol is rendezvous/'s business.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"
#include "launcher/agent/serving/admission.h"
#include "launcher/options/options.h"
#include "rendezvous/port/job_port.h"
#include "rendezvous/store/store_server.h"

namespace muster::launcher {

/// Clients that come before their round: those of two worlds at most, far beyond any node's share.
/// Never more than half of the descriptors.
inline constexpr size_t kMaxEarlyClients = 131'072;

class JobStore {
 public:
  /// Listens, so that no worker can come too early (PyTorch's clients wait 250-750 ms after a
  /// refused connection). `network` and `loop` are borrowed. MASTER_ADDR is always numeric:
  /// --local-addr, else a numeric --master-addr, else loopback, which also keeps the store from
  /// strangers. With `hosted_by_worker` (worker_hosts_store) the job port is any free one, no
  /// store is served there, and another free port is found for the worker's. kOs: port taken or not
  /// ours.
  static Result<std::unique_ptr<JobStore>> create(Loop& loop, Network& network,
                                                  const Options& options, bool hosted_by_worker);

  /// A new attempt, after the last worker of the old one is gone: empty store, old connections
  /// closed. Returns what the workers get as MASTER_ADDR and MASTER_PORT; only with
  /// hosted_by_worker the port changes. kOs.
  Result<Address> begin_attempt();
  /// For a job of many nodes: listens on `address` alone, whatever the options say. No store is
  /// served until begin_attempt().
  static Result<std::unique_ptr<JobStore>> listen_on(Loop& loop, Network& network,
                                                     const Address& address);
  /// Listens on `address` from now on, and no more where it did: before anybody was told of that.
  /// kOs: it is taken; nothing changes.
  Status move_to(const Address& address);
  /// The round is over here: the store is emptied and its clients are dropped. New ones wait
  /// unserved for the next begin_attempt(): they belong to a round that this node does not know
  /// yet, or to one that is ending, and those are dropped then.
  void hold();
  /// From the next begin_attempt() on, clients come from these hosts and this machine only
  /// (admission.h).
  void set_networks(std::vector<IpNetwork> networks) {
    admission_.set_networks(std::move(networks));
  }
  void set_members(std::set<std::string> hosts) { admission_.set_members(std::move(hosts)); }
  /// As JobPort::serve(), for other protocols than the store's.
  void serve(rendezvous::Protocol protocol, rendezvous::JobPort::Handler handler) {
    port_.serve(protocol, std::move(handler));
  }
  /// The same for what workers dial: those alone that the store itself would take. `clients`: how
  /// many whoever serves them has.
  void serve_workers(rendezvous::Protocol protocol, rendezvous::JobPort::Handler handler,
                     std::function<size_t()> clients);
  [[nodiscard]] const Address& address() const { return master_; }
  [[nodiscard]] rendezvous::StoreCounters counters() const { return server_.counters(); }

 private:
  JobStore(Loop& loop, Network& network, bool hosted_by_worker)
      : network_(network),
        hosted_by_worker_(hosted_by_worker),
        admission_(loop),
        server_(loop),
        port_(loop, network),
        lines_(loop) {}
  Status listen();
  void adopt(UniqueFd connection, std::string first_bytes);
  [[nodiscard]] bool lets_in(int connection);
  [[nodiscard]] bool knows(int connection) const;

  struct Early {  // a client of a round that has not begun here
    UniqueFd connection;
    std::string first_bytes;
  };

  Network& network_;
  const bool hosted_by_worker_;
  Admission admission_;
  rendezvous::StoreServer server_;
  rendezvous::JobPort port_;
  Address master_;
  const size_t quarter_ = quarter_of_descriptors();
  LineBudget lines_;  // about clients for whom there is no room
  bool holding_ = false;
  std::vector<Early> early_;
  std::function<size_t()> other_clients_ = [] { return size_t{0}; };  // of serve_workers()
};

}  // namespace muster::launcher
