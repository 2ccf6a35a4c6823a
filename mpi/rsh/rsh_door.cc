#include "mpi/rsh/rsh_door.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace muster::mpi {

namespace {

constexpr std::string_view kPrefix = "@muster-rsh-";

struct DoorAddress {
  sockaddr_un raw{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

// "@" stands for the zero byte with which abstract names begin.
Result<DoorAddress> address_of(std::string_view name) {
  DoorAddress address;
  if (!name.starts_with(kPrefix) || name.size() > sizeof address.raw.sun_path) {
    return Error{Code::kConfig, 0, "'" + std::string(name) + "' is not what an agent is called"};
  }
  address.raw.sun_family = AF_UNIX;
  std::copy(name.begin() + 1, name.end(), address.raw.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  return address;
}

Result<UniqueFd> new_socket() {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.is_open()) return os_error("socket");
  return fd;
}

Result<ucred> other_end(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return os_error("getsockopt SO_PEERCRED");
  return credentials;
}

bool is_trusted(uid_t uid) { return uid == geteuid() || uid == 0; }

}  // namespace

std::string rsh_door_name(std::string_view agent_token) {
  return std::string(kPrefix) + std::string(agent_token);
}

Result<UniqueFd> listen_at_door(std::string_view name) {
  const auto address = address_of(name);
  if (!address) return Error(address.error());
  auto fd = new_socket();
  if (!fd) return fd;
  if (bind(fd->get(), address->get(), address->length) != 0)
    return os_error("bind " + std::string(name));
  if (listen(fd->get(), SOMAXCONN) != 0) return os_error("listen " + std::string(name));
  return fd;
}

Result<UniqueFd> connect_to_door(std::string_view name) {
  const auto address = address_of(name);
  if (!address) return Error(address.error());
  auto fd = new_socket();
  if (!fd) return fd;
  if (connect(fd->get(), address->get(), address->length) != 0) {
    // EAGAIN: its backlog is full.
    return Error{Code::kPeer, errno, errno == EAGAIN ? "too many callers wait" : "is not there"};
  }
  const auto agent = other_end(fd->get());
  if (!agent) return Error(agent.error());
  if (!is_trusted(agent->uid)) {
    return Error{Code::kPeer, 0, "uid " + std::to_string(agent->uid) + " has taken its place"};
  }
  return fd;
}

Result<UniqueFd> accept_at_door(int listener) {
  UniqueFd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd.is_open()) return os_error("accept");
  return fd;
}

Status admit_at_door(int connection) {
  const auto caller = other_end(connection);
  if (!caller) return Error(caller.error());
  if (!is_trusted(caller->uid)) {
    return Error{Code::kPeer, 0,
                 "uid " + std::to_string(caller->uid) + " may not run commands as uid " +
                     std::to_string(geteuid())};
  }
  // The kernel shows a process that has no number in our name space as 0.
  if (caller->pid == 0) {
    return Error{Code::kPeer, 0, "processes of another container may not run commands"};
  }
  return {};
}

}  // namespace muster::mpi
