// Which port a node of a job of many listens on: that of a candidate, when this node is one and its
// port is free, else the usual one, else any. Listening is how agents on one machine find out which
// of them is which. For node_agent_start.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"
#include "launcher/agent/serving/job_store.h"
#include "rendezvous/finding/host_list.h"

namespace muster::launcher {

struct PortQuestion {
  std::vector<rendezvous::Candidate> candidates;  ///< who may lead; never empty
  std::string own_address;                        ///< a numeric --local-addr; "" = none
  /// Static backend: who is a candidate was told so, and the others look for it at that port alone.
  bool known_nodes = false;
  std::string rank_note;  ///< behind the error that this port is taken
  /// Which candidate this node is if its port is `port`; none = none.
  std::function<std::optional<int>(uint16_t port)> find_self;
  /// One of them is on this machine. Asked only with known_nodes and by who is none of them.
  std::function<bool()> is_beside_us;
};

struct ChosenPort {
  std::unique_ptr<JobStore> store;  ///< listens
  std::string listen_host;          ///< "::", --local-addr or loopback: also for further ports
  std::optional<int> candidate;     ///< which one this node is; none = none of them
  bool shares_machine = false;      ///< another node is here: the host's name alone says too little
};

/// Where this node listens as `candidate`, while it listens on `listen_host` for others.
[[nodiscard]] Address door_of(const rendezvous::Candidate& candidate,
                              const std::string& listen_host);

/// kOs: the port is another process's and must be ours (EADDRINUSE), or listening failed otherwise.
/// Logs when the usual port is taken and another one does. `loop` and `network` are borrowed for
/// the life of the store.
Result<ChosenPort> choose_port(Loop& loop, Network& network, const PortQuestion& question);

}  // namespace muster::launcher
