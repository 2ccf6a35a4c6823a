// FakeNetwork: the Network door without ports. Connections are UNIX socket pairs, so that
// everything the kernel does for a stream (partial writes, hang-ups, full buffers) is real.
#pragma once

#include <deque>
#include <map>
#include <string>

#include "base/socket.h"

namespace muster::testing {

/// listen(), connect() and accept() meet by address text. Listening twice on one address is
/// EADDRINUSE, dialling where nobody listens ECONNREFUSED, as on a real host. Port 0 gives ports
/// from 40000 on.
class FakeNetwork final : public Network {
 public:
  Result<UniqueFd> listen(const Address& address) override;
  Result<UniqueFd> connect(const Address& address) override;
  Result<UniqueFd> accept(int listener) override;
  Result<Address> local_address(int socket) override;

  /// The next `count` calls of accept() that have a connection waiting fail with this errno.
  void fail_accepts(int os_errno, int count) {
    accept_errno_ = os_errno;
    failing_accepts_ = count;
  }
  [[nodiscard]] int accept_calls() const { return accept_calls_; }

 private:
  struct Listener {
    Address address;
    std::deque<UniqueFd> waiting;
  };
  // By descriptor, which is an eventfd that counts the waiting connections. A listener that its
  // owner closed is found out by fcntl and forgotten.
  std::map<int, Listener> listeners_;
  uint16_t next_port_ = 40000;
  int accept_errno_ = 0;
  int failing_accepts_ = 0;
  int accept_calls_ = 0;
  void forget_closed();
};

}  // namespace muster::testing
