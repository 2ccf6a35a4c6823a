// Arrivals: at which address of this machine other nodes arrive. What the machine guesses of itself
// may be wrong: its own name may mean loopback to it, its network may have come after it had
// looked. Where others came to is right.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "base/socket.h"
#include "rendezvous/leader/leader_output.h"

namespace muster::launcher {

class Arrivals {
 public:
  /// `told` is called once, when the first node that came from elsewhere joins, with that numeric
  /// address. Empty = nobody wants to know. The door is borrowed.
  Arrivals(Network& network, std::function<void(const std::string& host)> told)
      : network_(network), told_(std::move(told)) {}

  void came(rendezvous::LinkId id, const UniqueFd& connection);
  void joined(rendezvous::LinkId id);
  void left(rendezvous::LinkId id) { hosts_.erase(id); }

 private:
  Network& network_;
  std::function<void(const std::string& host)> told_;          // empty once it was called
  std::unordered_map<rendezvous::LinkId, std::string> hosts_;  // of who has not joined
};

}  // namespace muster::launcher
