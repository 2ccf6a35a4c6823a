#include "base/reserved_port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace muster {

namespace {

Status bind_any(int fd, int family) {
  const int on = 1;
  const int off = 0;
  if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return os_error("setsockopt");
  if (family == AF_INET) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return os_error("bind");
    return {};
  }
  if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0)
    return os_error("setsockopt");
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) != 0) return os_error("bind");
  return {};
}

Result<UniqueFd> bound(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return os_error("socket");
  MUSTER_RETURN_IF_ERROR(bind_any(fd.get(), family));
  return fd;
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
  auto fd = bound(AF_INET6);
  if (!fd) fd = bound(AF_INET);
  if (!fd) return std::move(fd).error().with_context("a port for a worker");
  const auto port = port_of(fd->get());
  if (!port) return Error(port.error());
  return ReservedPort(std::move(*fd), *port);
}

}  // namespace muster
