#include "base/timed_stream.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster {
namespace {

// False: the deadline has passed.
bool wait_for(int fd, short events, TimePoint deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SystemClock().now());
    if (left.count() <= 0) return false;
    pollfd wanted{.fd = fd, .events = events, .revents = 0};
    const int ready = poll(&wanted, 1, static_cast<int>(std::min<int64_t>(left.count(), 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // the call that follows tells what is wrong
  }
}

}  // namespace

Error TimedStream::lost(std::string_view what) const {
  Error error = os_error(std::string(what) + " " + peer_);
  error.code = Code::kPeer;
  return error;
}

Error TimedStream::late(std::string_view what) const {
  return {Code::kTimeout, ETIMEDOUT, std::string(what) + " " + peer_ + ": no answer in time"};
}

Result<TimedStream> TimedStream::connect(const Address& peer, TimePoint deadline) {
  RealNetwork network;
  auto fd = network.connect(peer);
  const std::string name = peer.to_string();
  if (!fd) {
    Error error = std::move(fd).error();
    error.code = Code::kPeer;
    return error;
  }
  if (!wait_for(fd->get(), POLLOUT, deadline))
    return Error{Code::kTimeout, ETIMEDOUT, "connect to " + name + ": no answer in time"};
  if (const Status connected = socket_error(fd->get(), name); !connected) {
    Error error = connected.error();
    error.code = Code::kPeer;
    return error;
  }
  return TimedStream(std::move(*fd), name);
}

Result<TimedStream> TimedStream::accept(int listener, TimePoint deadline) {
  RealNetwork network;
  for (;;) {
    auto fd = network.accept(listener);
    if (fd) {
      const auto peer = peer_address(fd->get());
      return TimedStream(std::move(*fd), peer ? peer->to_string() : "a peer");
    }
    if (fd.error().os_errno != EAGAIN) return std::move(fd).error();
    if (!wait_for(listener, POLLIN, deadline))
      return Error{Code::kTimeout, ETIMEDOUT, "nobody has called in time"};
  }
}

Result<Address> TimedStream::local_address() const {
  return RealNetwork().local_address(fd_.get());
}

Status TimedStream::write(std::string_view bytes, TimePoint deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (!wait_for(fd_.get(), POLLOUT, deadline)) return late("write to");
    } else if (errno != EINTR) {
      return lost("write to");
    }
  }
  return {};
}

Result<size_t> TimedStream::read_some(std::span<char> into, TimePoint deadline) {
  for (;;) {
    const ssize_t got = recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0)
      return Error{Code::kPeer, 0, "read from " + peer_ + ": it has closed the connection"};
    if (errno == EAGAIN) {
      if (!wait_for(fd_.get(), POLLIN, deadline)) return late("read from");
    } else if (errno != EINTR) {
      return lost("read from");
    }
  }
}

Status TimedStream::read(std::span<char> into, TimePoint deadline) {
  while (!into.empty()) {
    const auto got = read_some(into, deadline);
    if (!got) return Error(got.error());
    into = into.subspan(*got);
  }
  return {};
}

Result<std::string> TimedStream::read(size_t count, TimePoint deadline) {
  std::string bytes(count, '\0');
  MUSTER_RETURN_IF_ERROR(read(std::span<char>(bytes), deadline));
  return bytes;
}

}  // namespace muster
