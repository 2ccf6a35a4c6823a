// SshSweep: what an MPI launcher that failed may have left on nodes where no agent is is ended
// there, over SSH: ranks, which hold GPUs and memory, and daemons. (One of Open MPI 5 waits for
// ever when mpirun ends before it has answered it.) They are known by the agent's token in their
// environment, which muster-ssh puts there. MpiSshd owns it.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/result.h"

namespace muster::launcher {

/// For all nodes together.
inline constexpr Duration kSshSweepDeadline = std::chrono::seconds(5);
/// Connections at a time; the other nodes wait their turn.
inline constexpr size_t kMaxSshSweeps = 32;

/// `command`, for the login shell of the other end, with the token in its environment. `token`:
/// hexadecimal. Any login shell understands it; needs sh.
[[nodiscard]] std::string marked_command(const std::string& token, std::string_view command);

/// Ends with 0 where nothing was left, or ended by itself at once; with kSweptSome where something
/// was. Ends processes with SIGTERM, and those that stay with SIGKILL, in 1 s in all. Any login
/// shell understands it; needs sh, grep, sleep and /proc.
inline constexpr int kSweptSome = 3;
[[nodiscard]] std::string sweep_command(const std::string& token);

struct SshSweepSetup {
  Loop& loop;  ///< borrowed, as the processes
  ProcessHost& processes;
  std::vector<std::string> environment;  ///< of ssh, "NAME=value"
  std::string folder;                    ///< of ssh and its configuration
  std::string token;                     ///< as sweep_command()
};

class SshSweep {
 public:
  /// Begins. `done` comes once, from the loop: at once for no hosts, at the deadline at last; then
  /// this may be destroyed. What was found, and which hosts could not be looked at, goes to the
  /// log.
  SshSweep(SshSweepSetup setup, const std::vector<std::string>& hosts, std::function<void()> done);
  SshSweep(const SshSweep&) = delete;
  SshSweep& operator=(const SshSweep&) = delete;

  /// True: it was one of its.
  bool process_exited(const Reaped& reaped);
  [[nodiscard]] bool busy() const { return !waiting_.empty() || !running_.empty(); }

 private:
  void fill();
  [[nodiscard]] Result<pid_t> start(const std::string& host);
  void give_up();
  void finish_if_done();

  SshSweepSetup setup_;
  UniqueFd null_;  // of what ssh says
  std::deque<std::string> waiting_;
  std::map<pid_t, std::string> running_;     // their hosts
  std::vector<std::string> swept_, missed_;  // hosts
  std::function<void()> done_;
  Timer deadline_, end_;
};

}  // namespace muster::launcher
