// NodeProbes: carries out the dials by which a leader or a member learns whether nodes live
// (rendezvous/agreement/roll_call.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"
#include "rendezvous/agreement/roll_call.h"
#include "rendezvous/finding/dial_probe.h"

namespace muster::launcher {

class NodeProbes {
 public:
  /// Called once for each dial, from the loop or from within dial().
  using Done = std::function<void(rendezvous::DialId, rendezvous::DialResult)>;

  /// Both doors are borrowed.
  NodeProbes(Loop& loop, Network& network, Done done)
      : loop_(loop), network_(network), done_(std::move(done)) {}
  NodeProbes(const NodeProbes&) = delete;
  NodeProbes& operator=(const NodeProbes&) = delete;

  /// An address that is not numeric, or no port, has no answer.
  void dial(const rendezvous::NodeDial& dial);
  /// Hangs up everywhere and tells nothing.
  void clear() { probes_.clear(), over_.clear(); }
  /// Forgets those that are done; not from within `done`.
  void sweep();

 private:
  Loop& loop_;
  Network& network_;
  const Done done_;
  std::map<rendezvous::DialId, std::unique_ptr<rendezvous::DialProbe>> probes_;
  std::vector<rendezvous::DialId> over_;
};

}  // namespace muster::launcher
