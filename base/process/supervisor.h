// Supervisor: the worker processes of this node. Starts them, tells when one ended, stops them, and
// ends everything they ever started. It knows processes; what an exit *means* is the agent's
// business.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/loop.h"
#include "base/process.h"
#include "base/process/told_processes.h"

namespace muster {

/// Between two rounds of SIGKILL, for processes that were forked while the last round went out.
inline constexpr Duration kSweepInterval = std::chrono::milliseconds(50);
/// A process that survives SIGKILL this long sits in the kernel (state D); waiting longer would
/// hang the job.
inline constexpr Duration kSweepDeadline = std::chrono::seconds(10);

/// A rank process that ended. Its pid is already reaped.
struct WorkerExit {
  int local_rank = 0;
  pid_t pid = 0;  ///< for display only
  ExitStatus status;
  /// What terminate() had sent it before: the one that ended it, else the last; 0 = nothing.
  int stop_signal = 0;
  bool killed = false;  ///< a sweep had begun before
  Duration alive{};
  int passed_on = 0;  ///< a signal of forward() that ended it; 0 = none did
};

/// Called from reap() and from timers, never from start() or terminate(). They may call any method
/// of the supervisor.
struct SupervisorCallbacks {
  std::function<void(const WorkerExit&)> worker_exited;
  /// No descendant is left; `survivors` counts those that outlived kSweepDeadline.
  std::function<void(size_t survivors)> tree_gone;
  /// A child of this process that start() did not start. May be empty.
  std::function<void(const Reaped&)> other_exited = {};
};

class Supervisor {
 public:
  /// `loop` and `host` are borrowed for the life of the supervisor.
  Supervisor(Loop& loop, ProcessHost& host, SupervisorCallbacks callbacks);
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// Starts the rank process of `local_rank`, which must not be running. Errors:
  /// ProcessHost::spawn.
  Result<pid_t> start(int local_rank, const SpawnRequest& request);
  /// Sends a stop signal to every rank process, and to what is below it (ProcessHost::signal_tree);
  /// not again to one that got the same before, and may be saving because of it.
  void terminate(int signal);
  /// Sends it to what the rank processes have left behind and terminate() has not reached
  /// (process_tree.h untold); while the rest is awaited also to what that leaves behind in turn.
  /// Returns whom it reached now.
  std::vector<pid_t> terminate_rest(int signal);
  /// tree_gone comes when no descendant is left: at once if none is, else from reap(). True: at
  /// once.
  bool await_rest();
  /// SIGKILL to one rank process, which counts as its own end; nothing if it is gone.
  void kill(int local_rank);
  /// Passes a signal on in the same way; it does not count as a stop, and who dies of it failed.
  void forward(int signal);
  /// The same to every worker's process group: SIGSTOP and SIGCONT under job control.
  void forward_to_groups(int signal);
  /// SIGKILL to every descendant until none is left, then tree_gone. Calls back at once when there
  /// is none.
  void sweep();
  /// Children of ours that are not workers' and that a sweep must not touch.
  void spare(pid_t pid) { spared_.push_back(pid); }

  /// Takes every child that ended, orphans too; call it on SIGCHLD. The only place in the program
  /// that reaps. Workers are told of after all are taken, so that nobody is stopped who has ended
  /// already. The kernel does not say which of them ended first. One that got SIGKILL is told of
  /// first: it did not end because of another one.
  void reap();

  /// Those that worker_exited was not called for yet.
  [[nodiscard]] size_t running() const { return workers_.size() + ended_.size(); }
  /// Every descendant but those that are spared.
  [[nodiscard]] std::vector<Descendant> descendants() const { return host_.descendants(spared_); }
  /// Of the rank process while it runs.
  [[nodiscard]] std::optional<pid_t> pid_of(int local_rank) const;

 private:
  struct Worker {
    int local_rank = 0;
    TimePoint started;
    std::vector<int> stop_signals;  // in order
    bool killed = false;
    std::vector<int> passed_on;
  };
  void continue_sweep();
  void take(const Reaped& reaped);
  [[nodiscard]] WorkerExit take_worker(const Reaped& reaped);

  Loop& loop_;
  ProcessHost& host_;
  SupervisorCallbacks callbacks_;
  std::map<pid_t, Worker> workers_;  // rank processes not yet reaped
  std::deque<WorkerExit> ended_;     // reaped and not yet told
  std::vector<pid_t> spared_;
  ToldProcesses told_;  // that got a stop signal
  bool awaiting_ = false;
  int rest_signal_ = 0;  // what is left behind gets it; 0 = not yet
  bool sweeping_ = false;
  TimePoint sweep_started_;
  Timer sweep_timer_;
};

}  // namespace muster
