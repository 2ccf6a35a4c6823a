// SilentNetwork: every dial goes into the void, as towards a host that is gone.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <vector>

#include "base/socket.h"

namespace muster::testing {

/// A socket pair whose own side is full never becomes writable, which is all that a connect without
/// an answer shows.
class SilentNetwork final : public Network {
 public:
  Result<UniqueFd> listen(const Address& address) override {
    return os_error("bind " + address.to_string(), EADDRNOTAVAIL);
  }
  Result<UniqueFd> connect(const Address& /*address*/) override {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      return os_error("socketpair");
    }
    far_ends_.emplace_back(ends[1]);
    const std::vector<char> filler(4096);
    while (send(ends[0], filler.data(), filler.size(), MSG_NOSIGNAL) > 0) {
    }
    return UniqueFd(ends[0]);
  }
  Result<UniqueFd> accept(int /*listener*/) override { return os_error("accept", EAGAIN); }
  Result<Address> local_address(int /*socket*/) override { return os_error("getsockname", EBADF); }

 private:
  std::vector<UniqueFd> far_ends_;
};

}  // namespace muster::testing
