#include "base/socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace muster {

namespace {

struct RawAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<RawAddress> to_raw(const Address& address) {
  RawAddress raw;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&raw.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&raw.storage);
  if (inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    raw.length = sizeof *v4;
    return raw;
  }
  if (inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    raw.length = sizeof *v6;
    return raw;
  }
  return std::nullopt;
}

// An IPv4 peer of a dual-stack socket is shown as IPv4, so that one host has one name.
Address from_raw(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = "";
  if (storage.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return {text, ntohs(v4.sin_port)};
  }
  if (storage.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(storage);
  if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    inet_ntop(AF_INET, &v6.sin6_addr.s6_addr[12], text, sizeof text);
  } else {
    inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  }
  return {text, ntohs(v6.sin6_port)};
}

void set_option(int fd, int level, int option, int value) {
  // Best effort: every option set here only tunes; none changes what the bytes mean.
  (void)setsockopt(fd, level, option, &value, sizeof value);
}

Result<UniqueFd> new_stream_socket(int family) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return os_error("socket");
  return fd;
}

Error not_numeric(const Address& address) {
  return Error{Code::kInternal, EINVAL, "'" + address.host + "' is not a numeric address"};
}

}  // namespace

std::string Address::to_string() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

bool Address::is_loopback() const { return host.starts_with("127.") || host == "::1"; }

std::optional<std::string> parse_numeric_host(std::string_view text) {
  if (text.size() >= 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  const Address address{std::string(text), 0};
  if (!to_raw(address)) return std::nullopt;
  return address.host;
}

Result<UniqueFd> RealNetwork::listen(const Address& address) {
  const auto raw = to_raw(address);
  if (!raw) return not_numeric(address);
  auto fd = new_stream_socket(raw->storage.ss_family);
  const bool wildcard = address.host == "::";
  if (!fd && wildcard) return listen({"0.0.0.0", address.port});  // a kernel without IPv6
  if (!fd) return fd;
  set_option(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  // Accepted sockets inherit it, which saves a call for each (Linux).
  set_option(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (wildcard) set_option(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(fd->get(), raw->get(), raw->length) != 0) {
    if (wildcard && errno == EADDRNOTAVAIL) return listen({"0.0.0.0", address.port});
    return os_error("bind " + address.to_string());
  }
  if (::listen(fd->get(), SOMAXCONN) != 0) return os_error("listen " + address.to_string());
  return fd;
}

Result<UniqueFd> RealNetwork::connect(const Address& address) {
  const auto raw = to_raw(address);
  if (!raw) return not_numeric(address);
  auto fd = new_stream_socket(raw->storage.ss_family);
  if (!fd) return fd;
  set_option(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (::connect(fd->get(), raw->get(), raw->length) != 0 && errno != EINPROGRESS) {
    return os_error("connect " + address.to_string());
  }
  return fd;
}

Result<UniqueFd> RealNetwork::accept(int listener) {
  UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.is_open()) return os_error("accept");
  return fd;
}

Result<Address> RealNetwork::local_address(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return os_error("getsockname");
  return from_raw(storage);
}

void notice_dead_peers(int socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMs);
}

Status socket_error(int socket, std::string_view peer) {
  int pending = 0;
  socklen_t length = sizeof pending;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &pending, &length) != 0)
    return os_error("getsockopt SO_ERROR");
  if (pending != 0) return os_error("connect " + std::string(peer), pending);
  return {};
}

Result<std::string> source_host(const Address& peer) {
  const auto raw = to_raw(peer);
  if (!raw) return Error{Code::kOs, EINVAL, "not a numeric address: " + peer.host};
  const UniqueFd probe(socket(raw->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe.is_open()) return os_error("socket");
  // Connecting a datagram socket looks up the route, nothing more.
  if (::connect(probe.get(), raw->get(), raw->length) != 0)
    return os_error("looking for a route to " + peer.host);
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getsockname(probe.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return os_error("getsockname");
  return from_raw(storage).host;
}

Result<Address> peer_address(int socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &length) != 0)
    return os_error("getpeername");
  return from_raw(storage);
}

Status send_some(int socket, std::string& bytes) {
  if (bytes.empty()) return {};
  const ssize_t count = send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN && errno != EINTR) return os_error("send");
  if (count > 0) bytes.erase(0, static_cast<size_t>(count));
  return {};
}

}  // namespace muster
