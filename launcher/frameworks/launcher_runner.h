// LauncherRunner: above an MPI launcher that the job's command calls, in the place where the
// command expects that one. Tells the agent that it begins and how it ended, so that its ranks are
// judged together, and ends it when it hangs after them. Otherwise it is as if it were not there:
// streams, descriptors and the process group (unless we lead it) are the launcher's, signals are
// passed on.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/loop.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/socket.h"
#include "base/tls.h"
#include "launcher/frameworks/launcher_runner_table.h"
#include "launcher/rsh/rsh_channel.h"

namespace muster::launcher {

/// After the launcher's end, for that to be noted; else the command would go on, or end, before.
inline constexpr Duration kLauncherReportDeadline = std::chrono::seconds(5);
/// For what a launcher that hung has left to be gone after SIGKILL.
inline constexpr Duration kLauncherSweepDeadline = std::chrono::seconds(2);
inline constexpr Duration kLauncherSweepInterval = std::chrono::milliseconds(10);

/// Borrowed for the life of the runner, but for the values.
struct LauncherRunnerSetup {
  Loop& loop;
  Network& network;
  ProcessHost& processes;
  const TlsContext* tls;  ///< null = no job secret
  Address agent;
  rsh::Launcher launcher;
  SpawnRequest watched;                   ///< its ranks name `launcher`
  SpawnRequest unwatched;                 ///< when the agent does not take the report
  std::function<void()> started = [] {};  ///< at once
};

class LauncherRunner {
 public:
  /// `done` comes once, from the loop: as what this process must end. An error: it did not start.
  using Done = std::function<void(Result<ExitStatus>)>;
  LauncherRunner(LauncherRunnerSetup setup, Done done);
  LauncherRunner(const LauncherRunner&) = delete;
  LauncherRunner& operator=(const LauncherRunner&) = delete;

  void start();
  /// For the launcher; SIGCHLD is for us.
  void handle_signal(int signal);

 private:
  void on_message(const RshMessage& message);
  void reap();
  void handle(LauncherEvent event);
  void perform(LauncherAction action);
  void spawn(const SpawnRequest& request);
  void sweep();
  void report_end();
  void finish();

  LauncherRunnerSetup setup_;
  Done done_;
  std::unique_ptr<RshChannel> channel_;
  LauncherState state_ = LauncherState::kAsking;
  std::vector<int> early_;  // signals that came before the launcher
  pid_t pid_ = 0;           // while it lives
  Result<ExitStatus> end_ = ExitStatus();
  TimePoint sweep_until_;
  Timer timer_;
};

}  // namespace muster::launcher
