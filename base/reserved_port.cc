#include "base/reserved_port.h"

#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace muster {

namespace {

// Ports from which the kernel takes none for connections, as a rule (ip_local_port_range), and
// Kubernetes none for its services: after release() no stranger's connection comes first.
constexpr int kFirstPort = 15000;
constexpr int kLastPort = 29999;
constexpr int kTries = 32;

/// Port 0 = any.
Status bind_all(int fd, int family, uint16_t port) {
  if (family == AF_INET) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return os_error("bind");
    return {};
  }
  const int off = 0;
  if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
    return os_error("setsockopt");
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_port = htons(port);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return os_error("bind");
  return {};
}

Result<uint16_t> random_port() {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return os_error("getrandom");
  return static_cast<uint16_t>(kFirstPort +
                               static_cast<int>(number % (kLastPort - kFirstPort + 1)));
}

// SO_REUSEPORT comes after bind(): with it, a port that another agent of this user has reserved
// would do.
Result<UniqueFd> bound_to(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return os_error("socket");
  Status status = os_error("bind", EADDRINUSE);
  for (int i = 0; i < kTries && !status && status.error().os_errno == EADDRINUSE; ++i) {
    const auto port = random_port();
    if (!port) return Error(port.error());
    status = bind_all(fd.get(), family, *port);
  }
  if (!status) MUSTER_RETURN_IF_ERROR(bind_all(fd.get(), family, 0));
  const int on = 1;
  if (setsockopt(fd.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
    return os_error("setsockopt");
  return fd;
}

Result<UniqueFd> bound_to_any() {
  auto fd = bound_to(AF_INET6);
  return fd ? std::move(fd) : bound_to(AF_INET);
}

// The port stands at the same place for both families.
Result<int> port_of(int fd) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return os_error("getsockname");
  return ntohs(address.sin6_port);
}

}  // namespace

Result<ReservedPort> ReservedPort::take() {
  auto fd = bound_to_any();
  if (!fd) return std::move(fd).error().with_context("a port for a worker");
  const auto port = port_of(fd->get());
  if (!port) return Error(port.error());
  return ReservedPort(std::move(*fd), *port);
}

}  // namespace muster
