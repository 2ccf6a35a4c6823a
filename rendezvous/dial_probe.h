// DialProbe: one connect to an agent's job port, to learn whether anybody listens there. Sends
// nothing; the job port lets such connections go without a word.
#pragma once

#include <chrono>
#include <functional>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"
#include "rendezvous/leader.h"

namespace muster::rendezvous {

/// Two lost SYNs are forgiven, and a lease (2 s at least) is not waited out twice.
inline constexpr Duration kProbeDeadline = std::chrono::seconds(4);

/// Carries out leader_output::Dial. Destroying it hangs up and tells nothing.
class DialProbe {
 public:
  /// Calls `done` once, from the loop; it may not destroy the probe (post that). kRefused: a host
  /// answered that nothing listens there. kNoAnswer: everything else, such as silence, no route, no
  /// descriptors here: nothing that proves a death. Both doors are borrowed for its life.
  DialProbe(Loop& loop, Network& network, const Address& address,
            std::function<void(DialResult)> done);
  DialProbe(const DialProbe&) = delete;
  DialProbe& operator=(const DialProbe&) = delete;

 private:
  Status begin(Loop& loop, Network& network, const Address& address);
  void finish(DialResult result);

  std::function<void(DialResult)> done_;
  UniqueFd fd_;
  Watch watch_;  // after fd_: unregistered before it is closed
  Timer timer_;
};

}  // namespace muster::rendezvous
