// Listener: accepts connections at an address and gives them to its owner. It does not read from
// them. When the process has no descriptors left it pauses: clients wait in the backlog.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster {

/// Accepted in one turn, so that a whole world arriving at once does not hold up those already
/// here.
inline constexpr int kAcceptsPerTurn = 64;
/// After the process ran out of descriptors, accepting stops this long.
inline constexpr auto kAcceptPause = std::chrono::milliseconds(200);

class Listener {
 public:
  /// Takes over a connection. Called from the loop; may close() the listener, but not destroy it.
  using Arrived = std::function<void(UniqueFd connection)>;

  /// Both are borrowed and must outlive the listener.
  Listener(Loop& loop, Network& network, Arrived arrived)
      : loop_(loop), network_(network), arrived_(std::move(arrived)) {}
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Begins to accept on `address` (base/socket.h: "::" = every interface, port 0 = any) and
  /// returns it with its real port. A further call moves the listener: who waited at the old place
  /// is dropped. kOs: as Network::listen(); the old one stays.
  Result<Address> listen(const Address& address);
  void close();

 private:
  void on_acceptable();
  void pause(const Error& why);

  Loop& loop_;
  Network& network_;
  Arrived arrived_;
  UniqueFd socket_;
  Watch watch_;  // after socket_, so that it goes first
  Timer again_;
  bool paused_ = false;
};

}  // namespace muster
