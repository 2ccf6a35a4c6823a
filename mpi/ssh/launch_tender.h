// LaunchTender: the process above an MPI launcher whose nodes run sshd and no agent
// (`--mpi-transport sshd`). It starts the launcher, passes signals on, and decides how it has
// ended: what the launcher says counts only if its connections (ssh_reports.h) do not contradict
// it. Open MPI 5 says 0 as soon as it misses a daemon.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/signals.h"
#include "mpi/ssh/ssh_reports.h"

namespace muster::mpi {

/// ssh's exit code if the connection failed, or if what it ran was killed.
inline constexpr int kSshLost = 255;
/// For a launcher to end by itself after a connection was lost. If it is told to end meanwhile,
/// Open MPI 4.1 crashes. After a daemon that exited with a code of its own it has longer
/// (kUnexplained): that rather follows from a rank's end, which the launcher knows of.
inline constexpr Duration kAfterLostConnection = std::chrono::seconds(2);
/// Between SIGTERM to the launcher and giving it up.
inline constexpr Duration kTendedGrace = std::chrono::seconds(5);
/// For connections to end after a launcher that said 0. A daemon takes a moment to exit.
inline constexpr Duration kConnectionEnd = std::chrono::seconds(5);

class LaunchTender {
 public:
  /// `why`: "" if the exit code is the launcher's own, else what contradicts it, naming the host.
  using Done = std::function<void(int exit_code, const std::string& why)>;
  /// `reports`: of listen_for_ssh_reports(). `done` comes once, from the loop or handle_signal().
  LaunchTender(Loop& loop, ProcessHost& processes, UniqueFd reports, Done done);
  LaunchTender(const LaunchTender&) = delete;
  LaunchTender& operator=(const LaunchTender&) = delete;

  /// kOs: as ProcessHost::spawn and Loop::watch.
  Status start(const SpawnRequest& launcher);
  void handle_signal(const ReceivedSignal& signal);

 private:
  struct Failure {
    int exit_code = 0;
    std::string why;
    bool explains = false;  // it is the reason for whatever the launcher does afterwards
  };
  void reap();
  void on_reports();
  void take_reports();
  void connection_failed(const std::string& host, const ExitStatus& status);
  void launcher_ended(const ExitStatus& status);
  void finish_if_all_ended();
  void end_launcher();
  void finish(int exit_code, const std::string& why);
  void finish_with_failure();

  Loop& loop_;
  ProcessHost& processes_;
  UniqueFd reports_;
  Done done_;
  std::optional<pid_t> launcher_;      // while it runs
  std::map<pid_t, std::string> open_;  // connections that have not ended: their hosts
  std::optional<Failure> failure_;     // of a connection
  bool told_to_end_ = false;           // by somebody else: then connections may break
  Watch watch_;                        // after reports_
  Timer timer_;
};

}  // namespace muster::mpi
