#include "mpi/rsh/rsh_door.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kPrefix = "@muster-rsh-";
constexpr std::string_view kCommandsPrefix = "@muster-run-";

struct DoorAddress {
  sockaddr_un raw{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

// "@" stands for the zero byte with which abstract names begin.
Result<DoorAddress> address_of(std::string_view name) {
  DoorAddress address;
  const bool is_ours = name.starts_with(kPrefix) || name.starts_with(kCommandsPrefix);
  if (!is_ours || name.size() > sizeof address.raw.sun_path) {
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

// "" if it is gone, or not ours to look at.
std::string user_name_space(const std::string& process) {
  std::array<char, PATH_MAX> text{};
  const std::string path = "/proc/" + process + "/ns/user";
  const ssize_t size = readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<size_t>(size));
}

// The number that the kernel shows of every user who has none in our name space of users.
uid_t overflow_uid() {
  constexpr int64_t kUsual = 65534;
  const auto text = RealFiles().read("/proc/sys/kernel/overflowuid");
  return static_cast<uid_t>(text ? parse_integer(trim(*text)).value_or(kUsual) : kUsual);
}

bool is_trusted(const ucred& who) {
  if (who.uid == 0) return true;
  if (who.uid != geteuid()) return false;
  if (who.uid != overflow_uid()) return true;
  // Only where we may read another process's memory may we read this, too.
  const std::string ours = user_name_space("self");
  return !ours.empty() && user_name_space(std::to_string(who.pid)) == ours;
}

}  // namespace

std::string rsh_door_name(std::string_view agent_token) {
  return std::string(kPrefix) + std::string(agent_token);
}

std::string rsh_commands_door_name(uint64_t incarnation) {
  std::array<char, 17> digits{};
  (void)std::snprintf(digits.data(), digits.size(), "%016llx",
                      static_cast<unsigned long long>(incarnation));  // cannot be cut
  return std::string(kCommandsPrefix) + digits.data();
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
  if (!is_trusted(*agent)) {
    return Error{Code::kPeer, 0, "uid " + std::to_string(agent->uid) + " has taken its place"};
  }
  return fd;
}

Result<UniqueFd> connect_to_commands(uint64_t incarnation) {
  auto fd = connect_to_door(rsh_commands_door_name(incarnation));
  if (fd || fd.error().os_errno != ECONNREFUSED) return fd;
  return Error{Code::kPeer, ECONNREFUSED,
               "its agent is not on this machine, and this job has no secret; "
               "MUSTER_JOB_SECRET_FILE on every node lets them run commands on each other"};
}

Status admit_at_door(int connection) {
  const auto caller = other_end(connection);
  if (!caller) return Error(caller.error());
  if (!is_trusted(*caller)) {
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

Result<std::unique_ptr<RshDoor>> RshDoor::create(Loop& loop, std::string_view name, Visit visit) {
  auto listener = listen_at_door(name);
  if (!listener) return std::move(listener).error();
  std::unique_ptr<RshDoor> door(new RshDoor(loop, std::move(*listener), std::move(visit)));
  RshDoor* const self = door.get();
  auto watch =
      loop.watch(door->listener_.get(), Interest::kRead, [self](Ready) { self->on_acceptable(); });
  if (!watch) return std::move(watch).error();
  door->watch_ = std::move(*watch);
  return door;
}

void RshDoor::on_acceptable() {
  for (int accepted = 0; accepted < kRshAcceptsPerTurn; ++accepted) {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (connection.is_open()) {
      Status admitted = admit_at_door(connection.get());
      visit_(std::move(connection), std::move(admitted));
      continue;
    }
    if (errno == EAGAIN) return;
    // Out of descriptors or memory; the listener stays readable, and waiting for it would spin.
    watch_.set_interest(Interest::kNothing);
    accept_again_ = loop_.after(kRshAcceptPause, [this] { watch_.set_interest(Interest::kRead); });
    return;
  }
}

}  // namespace muster::mpi
