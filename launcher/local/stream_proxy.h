// StreamProxy: a stretch of network for `muster local`: passes connections on from one address to
// another and can fall silent, as a cut cable does. Knows no protocol.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "base/socket.h"

namespace muster::launcher {

/// Read and not yet written, in one direction of one connection; more stays in the kernel's queues.
inline constexpr size_t kProxyBufferBytes = 64U << 10;

class StreamProxy {
 public:
  /// Borrowed for the life of the proxy. At first whoever dials is refused.
  StreamProxy(Loop& loop, Network& network, Address from, Address to);
  StreamProxy(const StreamProxy&) = delete;
  StreamProxy& operator=(const StreamProxy&) = delete;
  ~StreamProxy();

  /// Whether there is a program at the other end: without one, who dials is refused. Connections
  /// end when the program's do. kOs: the address cannot be had.
  Status set_alive(bool alive);
  /// Cut: nothing passes, in neither direction, and nobody is told; who dials hears nothing. Not
  /// cut: what waited goes on its way, as TCP would repeat it. kOs as above.
  Status set_cut(bool cut);

 private:
  class Pair;

  Status listen();
  void accept_all();
  void bury();

  Loop& loop_;
  Network& network_;
  const Address from_;
  const Address to_;
  bool alive_ = false;
  bool cut_ = false;
  UniqueFd listener_;
  Watch watch_;  // after listener_: unregistered before it is closed
  std::vector<std::unique_ptr<Pair>> pairs_;
  Timer burial_;  // ended pairs go at the end of a turn: not under their own feet
};

}  // namespace muster::launcher
