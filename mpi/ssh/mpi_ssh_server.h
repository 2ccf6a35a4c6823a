// SshServer: a port of this agent on which each connection gets an `sshd -i` of OpenSSH. That
// authenticates the caller and runs the one command of its configuration (mpi/ssh/ssh_config.h).
// Because the agent listens, no port is guessed, nobody waits for a server, and no sshd stays
// behind.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/socket.h"
#include "mpi/ssh/ssh_logins.h"

namespace muster::mpi {

/// Connections at a time: one for each daemon that is started here, and callers that have not
/// logged in yet, for which sshd gives them 30 s.
inline constexpr size_t kMaxSshConnections = 512;
/// Those that have not logged in, each of which has two processes of sshd. A further one is taken
/// and one of them closed (ssh_logins.h), so that who holds them keeps nobody out. Far more than
/// mpiruns start daemons at a time on one node, and less than the 100 of a listening sshd
/// (MaxStartups of sshd_config(5)).
inline constexpr size_t kMaxSshLogins = 64;
inline constexpr int kSshAcceptsPerTurn = 16;  ///< each starts a process
/// Until the next try after descriptors or processes for another connection were missing.
inline constexpr Duration kSshAcceptPause = std::chrono::milliseconds(200);
/// Lines of sshd in one window; the rest is a number in the first of the next one.
inline constexpr Duration kSshLineWindow = std::chrono::seconds(10);
inline constexpr int kMaxSshLines = 10;
inline constexpr size_t kMaxSshLineBytes = 512;

/// Borrowed for the life of the server, but for strings and functions.
struct SshServerSetup {
  Loop& loop;
  ProcessHost& processes;
  Network& network;
  std::string program;                   ///< sshd, absolute
  std::string config;                    ///< path of its configuration
  std::vector<std::string> environment;  ///< "NAME=value"
  unsigned long fd_limit = 0;            ///< as in SpawnRequest
  /// The sshd of a connection was ended by this signal, and not by us. From process_exited().
  std::function<void(pid_t pid, int signal)> killed;
  /// Whether the caller of that sshd has logged in: ssh_has_logged_in() but in tests.
  std::function<bool(pid_t pid)> has_logged_in;
};

/// Whether an sshd serves a caller that has logged in: it runs something for them, which is no part
/// of sshd. Before the login it runs its own helpers alone, with every version of OpenSSH (tried:
/// 9.2, 10.5). A few files of /proc.
[[nodiscard]] bool ssh_has_logged_in(pid_t sshd);

class SshServer {
 public:
  /// Listens at once; port 0 = any. kOs.
  static Result<std::unique_ptr<SshServer>> listen(SshServerSetup setup, const Address& address);
  SshServer(const SshServer&) = delete;
  SshServer& operator=(const SshServer&) = delete;

  [[nodiscard]] const Address& address() const { return address_; }
  /// Some caller who has logged in is served. O(callers that had not when it was asked last).
  [[nodiscard]] bool busy();
  /// Called from process_exited() when the last one of them has ended.
  void on_idle(std::function<void()> idle) { idle_ = std::move(idle); }
  /// A child of this process was reaped; true: it was one of ours.
  bool process_exited(const Reaped& reaped);

 private:
  explicit SshServer(SshServerSetup setup) : setup_(std::move(setup)) {}
  Status open(const Address& address);
  void watch_listener();
  void take_connections();
  Status serve(const UniqueFd& connection);
  void make_room();
  void read_lines();
  void tell(std::string_view line);

  SshServerSetup setup_;
  Address address_;
  UniqueFd listener_;
  Pipe lines_;            // what all of them say on stderr
  Watch listener_watch_;  // after their descriptors
  Watch lines_watch_;
  Timer pause_;
  std::string rest_;  // of a line that is not complete
  std::set<pid_t> connections_;
  SshLogins logins_;        // of connections_
  std::set<pid_t> closed_;  // by us, of connections_
  TimePoint window_until_;
  int told_ = 0;                // lines of this window
  int untold_ = 0;              // that were too many, since the last one told
  std::function<void()> idle_;  // may be empty
};

}  // namespace muster::mpi
