// JobStore: the one port of this job and the store behind it. Knows where the workers will dial;
// the protocol is rendezvous/'s business.
#pragma once

#include <memory>

#include "base/loop.h"
#include "base/socket.h"
#include "launcher/options.h"
#include "rendezvous/job_port.h"
#include "rendezvous/store_server.h"

namespace muster::launcher {

class JobStore {
 public:
  /// Listens, so that no worker can come too early (PyTorch's clients wait 250-750 ms after a
  /// refused connection). `network` and `loop` are borrowed. MASTER_ADDR is always numeric:
  /// --local-addr, else a numeric --master-addr, else loopback, which also keeps the store from
  /// strangers. With `hosted_by_worker` (the user's TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1) nothing
  /// is served and only a free port is found. kOs: port taken or not ours.
  static Result<std::unique_ptr<JobStore>> create(Loop& loop, Network& network,
                                                  const Options& options, bool hosted_by_worker);

  /// A new attempt, after the last worker of the old one is gone: empty store, old connections
  /// closed. Returns what the workers get as MASTER_ADDR and MASTER_PORT; only with
  /// hosted_by_worker the port changes. kOs.
  Result<Address> begin_attempt();
  [[nodiscard]] rendezvous::StoreCounters counters() const { return server_.counters(); }

 private:
  JobStore(Loop& loop, Network& network, bool hosted_by_worker)
      : network_(network),
        hosted_by_worker_(hosted_by_worker),
        server_(loop),
        port_(loop, network) {}

  Network& network_;
  const bool hosted_by_worker_;
  rendezvous::StoreServer server_;
  rendezvous::JobPort port_;
  Address master_;
};

}  // namespace muster::launcher
