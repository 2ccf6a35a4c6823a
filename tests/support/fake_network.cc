#include "tests/support/fake_network.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace muster::testing {

void FakeNetwork::forget_closed() {
  std::erase_if(listeners_, [](const auto& entry) { return fcntl(entry.first, F_GETFD) < 0; });
}

Result<UniqueFd> FakeNetwork::listen(const Address& address) {
  forget_closed();
  Address bound = address;
  if (bound.port == 0) bound.port = next_port_++;
  for (const auto& [fd, listener] : listeners_) {
    if (listener.address == bound) return os_error("bind " + bound.to_string(), EADDRINUSE);
  }
  UniqueFd fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC | EFD_SEMAPHORE));
  if (!fd.is_open()) return os_error("eventfd");
  listeners_[fd.get()].address = bound;
  return fd;
}

Result<UniqueFd> FakeNetwork::connect(const Address& address) {
  forget_closed();
  for (auto& [fd, listener] : listeners_) {
    if (listener.address != address) continue;
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
      return os_error("socketpair");
    }
    listener.waiting.emplace_back(ends[1]);
    const uint64_t one = 1;
    if (write(fd, &one, sizeof one) != sizeof one) return os_error("write eventfd");
    return UniqueFd(ends[0]);
  }
  return os_error("connect " + address.to_string(), ECONNREFUSED);
}

Result<UniqueFd> FakeNetwork::accept(int listener) {
  ++accept_calls_;
  auto& waiting = listeners_.at(listener).waiting;
  if (waiting.empty()) return os_error("accept", EAGAIN);
  if (failing_accepts_ > 0) {
    --failing_accepts_;
    return os_error("accept", accept_errno_);
  }
  uint64_t one = 0;
  if (read(listener, &one, sizeof one) != sizeof one) return os_error("read eventfd");
  UniqueFd connection = std::move(waiting.front());
  waiting.pop_front();
  return connection;
}

Result<Address> FakeNetwork::local_address(int socket) {
  const auto found = listeners_.find(socket);
  if (found == listeners_.end()) return os_error("getsockname", ENOTSOCK);
  return found->second.address;
}

}  // namespace muster::testing
