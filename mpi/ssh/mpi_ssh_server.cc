#include "mpi/ssh/mpi_ssh_server.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/log.h"
#include "base/process_tree.h"
#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr size_t kReadBytes = 4096;  // of what sshd says, in one turn

}  // namespace

// "sshd", and since OpenSSH 9.8 "sshd-session" and "sshd-auth".
bool ssh_has_logged_in(pid_t sshd) {
  const auto below = descendants_of(sshd, {});
  return std::any_of(below.begin(), below.end(), [](const Descendant& process) {
    const std::string name = name_of_process(process.pid);
    return !name.empty() && !name.starts_with("sshd");
  });
}

Result<std::unique_ptr<SshServer>> SshServer::listen(SshServerSetup setup, const Address& address) {
  std::unique_ptr<SshServer> server(new SshServer(std::move(setup)));
  MUSTER_RETURN_IF_ERROR(server->open(address));
  return server;
}

Status SshServer::open(const Address& address) {
  auto lines = make_pipe();
  if (!lines) return std::move(lines).error();
  lines_ = std::move(*lines);
  MUSTER_RETURN_IF_ERROR(set_nonblocking(lines_.read_end.get()));
  auto lines_watch =
      setup_.loop.watch(lines_.read_end.get(), Interest::kRead, [this](Ready) { read_lines(); });
  if (!lines_watch) return std::move(lines_watch).error();
  lines_watch_ = std::move(*lines_watch);
  auto listener = setup_.network.listen(address);
  if (!listener) return std::move(listener).error();
  listener_ = std::move(*listener);
  auto bound = setup_.network.local_address(listener_.get());
  if (!bound) return std::move(bound).error();
  address_ = *bound;
  auto watch =
      setup_.loop.watch(listener_.get(), Interest::kRead, [this](Ready) { take_connections(); });
  if (!watch) return std::move(watch).error();
  listener_watch_ = std::move(*watch);
  return {};
}

void SshServer::watch_listener() { listener_watch_.set_interest(Interest::kRead); }

void SshServer::take_connections() {
  for (int i = 0; i < kSshAcceptsPerTurn; ++i) {
    auto connection = setup_.network.accept(listener_.get());
    if (!connection && connection.error().os_errno == EAGAIN) return;
    Status served = connection ? serve(*connection) : Status(std::move(connection).error());
    if (served) continue;
    tell("a connection could not be served: " + served.error().text);
    listener_watch_.set_interest(Interest::kNothing);
    pause_ = setup_.loop.after(kSshAcceptPause, [this] { watch_listener(); });
    return;
  }
}

Status SshServer::serve(const UniqueFd& connection) {
  if (connections_.size() >= kMaxSshConnections) {
    return Error{Code::kLimit, 0, "more than " + std::to_string(kMaxSshConnections) + " at a time"};
  }
  const int flags = fcntl(connection.get(), F_GETFL);
  if (flags < 0 || fcntl(connection.get(), F_SETFL, flags & ~O_NONBLOCK) != 0)
    return os_error("fcntl");
  make_room();
  SpawnRequest request;
  request.program = setup_.program;
  // By its whole path, which it looks at to start itself anew.
  request.arguments = {setup_.program, "-i", "-e", "-f", setup_.config};
  request.environment = setup_.environment;
  request.stdin_fd = connection.get();
  request.stdout_fd = connection.get();
  request.stderr_fd = lines_.write_end.get();
  sigemptyset(&request.signal_mask);
  request.default_signals = true;
  request.fd_limit = setup_.fd_limit;
  request.working_directory = "/";
  auto pid = setup_.processes.spawn(request);
  if (!pid) return std::move(pid).error();
  connections_.insert(*pid);
  const auto caller = peer_address(connection.get());
  logins_.came(*pid, caller ? caller->host : "");  // it may have left already
  return {};
}

// Nobody is asked whether they have logged in before it matters.
void SshServer::make_room() {
  while (logins_.size() >= kMaxSshLogins) {
    const SshLogins::Caller caller = logins_.first_to_go();
    logins_.gone(caller.pid);
    if (setup_.has_logged_in(caller.pid)) continue;
    // The group, because sshd has a helper for the time before the login.
    if (setup_.processes.signal_group(caller.pid, SIGKILL)) closed_.insert(caller.pid);
    tell("more than " + std::to_string(kMaxSshLogins) +
         " callers have not logged in; closed one from " + caller.host);
  }
}

// Others keep nothing waiting: whoever reaches the port may connect as often as they like.
bool SshServer::busy() {
  const auto callers = logins_.all();
  for (const SshLogins::Caller& caller : callers) {
    if (setup_.has_logged_in(caller.pid)) logins_.gone(caller.pid);
  }
  return connections_.size() > logins_.size() + closed_.size();
}

// Its exit code says nothing: 255 is the usual end, after the caller has left.
bool SshServer::process_exited(const Reaped& reaped) {
  if (connections_.erase(reaped.pid) == 0) return false;
  logins_.gone(reaped.pid);
  const bool by_us = closed_.erase(reaped.pid) > 0;
  if (reaped.status.signal != 0 && !by_us && setup_.killed)
    setup_.killed(reaped.pid, reaped.status.signal);
  if (idle_ && !busy()) idle_();
  return true;
}

void SshServer::read_lines() {
  std::array<char, kReadBytes> bytes;
  const ssize_t count = read(lines_.read_end.get(), bytes.data(), bytes.size());
  if (count <= 0) return;  // the write end is ours, too: there is always more to come
  rest_.append(bytes.data(), static_cast<size_t>(count));
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
    tell(trim(std::string_view(rest_).substr(0, end)));
    rest_.erase(0, end + 1);
  }
  if (rest_.size() > kMaxSshLineBytes) tell(std::exchange(rest_, {}));
}

// Whoever can reach the port could fill the log.
void SshServer::tell(std::string_view line) {
  if (line.empty()) return;
  const TimePoint now = setup_.loop.now();
  if (now >= window_until_) {
    window_until_ = now + kSshLineWindow;
    told_ = 0;
  }
  if (++told_ > kMaxSshLines) return (void)++untold_;
  log::warning("ssh.server", {{"says", one_line(clip_utf8(line, kMaxSshLineBytes))},
                              {"untold", std::exchange(untold_, 0)}});
}

}  // namespace muster::mpi
