// DialProbe: a connection to an agent's job port, to learn whether anybody lives there. Sends
// nothing; the job port lets such connections go without a word. Asks again when it is dropped.
#pragma once

#include <chrono>
#include <functional>

#include "base/fd.h"
#include "base/loop.h"
#include "base/socket.h"
#include "rendezvous/leader/leader.h"

namespace muster::rendezvous {

/// Two lost SYNs are forgiven, and a lease (2 s at least) is not waited out twice.
inline constexpr Duration kProbeDeadline = std::chrono::seconds(4);
/// So long a connection must last to prove that somebody lives. When a process is killed the kernel
/// closes its sockets one by one, and its listener may outlive by a moment the link whose end made
/// us ask: then the connection is reset, and the next one refused.
inline constexpr Duration kProbeSettle = std::chrono::milliseconds(250);
inline constexpr int kProbeAttempts = 3;

/// Carries out NodeDial. Destroying it hangs up and tells nothing.
class DialProbe {
 public:
  /// Calls `done` once, from the loop; it may not destroy the probe (soon() may). kRefused: a host
  /// answered that nothing listens there. kNoAnswer: everything else, such as silence, no route, no
  /// descriptors here: nothing that proves a death. Both doors are borrowed for its life.
  DialProbe(Loop& loop, Network& network, const Address& address,
            std::function<void(DialResult)> done);
  DialProbe(const DialProbe&) = delete;
  DialProbe& operator=(const DialProbe&) = delete;

 private:
  void begin();
  Status connect();
  void connected();
  void dropped();
  void finish(DialResult result);

  Loop& loop_;
  Network& network_;
  const Address address_;
  std::function<void(DialResult)> done_;
  int attempts_ = 0;
  UniqueFd fd_;
  Watch watch_;  // after fd_: unregistered before it is closed
  Timer timer_;  // one attempt's, then the settling's
};

}  // namespace muster::rendezvous
