// ReservedPort: a TCP port that the kernel gives to nobody else, for a server that somebody else
// will start. It is bound with SO_REUSEPORT and never listens: a server of the same user that binds
// with that option gets all its connections.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace muster {

class ReservedPort {
 public:
  /// Any free port, on all addresses of both families (of IPv4 alone where there is no IPv6). kOs.
  static Result<ReservedPort> take();

  [[nodiscard]] int port() const { return port_; }
  /// Gives it up, for a server that binds without SO_REUSEPORT. Until it does, another process that
  /// asks for this very port may come first.
  void release() { fd_.reset(); }

 private:
  ReservedPort(UniqueFd fd, int port) : fd_(std::move(fd)), port_(port) {}

  UniqueFd fd_;
  int port_;
};

}  // namespace muster
