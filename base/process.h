// The door to processes: start, signal, reap, and find everything a child started. Vfork semantics,
// so that the cost of a start does not grow with the parent. One place in the program reaps:
// whoever calls ProcessHost::reap().
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/cpu_set.h"
#include "base/exit_code.h"
#include "base/fd.h"
#include "base/process_tree.h"
#include "base/result.h"

namespace muster {

/// How a process ended.
struct ExitStatus {
  int code = 0;    ///< exit code 0..255; meaningless when signal != 0
  int signal = 0;  ///< the signal that ended it; 0 = it exited
  bool core_dumped = false;
  [[nodiscard]] bool success() const { return signal == 0 && code == 0; }
  /// As a shell reports it: the code, or 128 + signal.
  [[nodiscard]] int shell_code() const { return signal != 0 ? kSignalExitBase + signal : code; }
  /// "exit code 3", "SIGKILL", "SIGSEGV (core dumped)".
  [[nodiscard]] std::string describe() const;
};

/// What to start. Descriptors are borrowed for the call only; the child gets nothing but 0, 1
/// and 2, and `kept_fd`.
struct SpawnRequest {
  std::string program;                   ///< path; no PATH search here (base/files.h find_program)
  std::vector<std::string> arguments;    ///< argv, with argv[0]
  std::vector<std::string> environment;  ///< "NAME=value"
  int stdin_fd = -1;                     ///< -1 = inherit ours
  int stdout_fd = -1;
  int stderr_fd = -1;
  int kept_fd = -1;              ///< > 2: the child has it, too, under the same number; -1 = none
  CpuSet cpus;                   ///< empty = inherit our affinity
  sigset_t signal_mask{};        ///< mask of the child
  bool ignore_sigpipe = false;   ///< as it was for us at exec; other dispositions are inherited
  unsigned long fd_limit = 0;    ///< soft RLIMIT_NOFILE of the child; 0 = inherit ours
  bool new_session = true;       ///< own session and process group
  bool new_group = false;        ///< own process group in our session; not with new_session
  int foreground_of = -1;        ///< with new_group: the terminal of which that group gets the
                                 ///< foreground; all signals must be blocked here; -1 = none
  bool default_signals = false;  ///< every disposition back to the default, as after a login
  std::string working_directory = {};  ///< "" = ours
  int parent_death_signal = SIGKILL;   ///< sent by the kernel when we die; 0 = none
  int network_namespace = -1;          ///< descriptor of the one in which the child runs; -1 = ours
};

/// A child that ended.
struct Reaped {
  pid_t pid = 0;
  ExitStatus status;
  bool spawned_by_us = false;  ///< false = an orphan, handed to us as its subreaper or as PID 1
};

class ProcessHost {
 public:
  virtual ~ProcessHost() = default;
  /// Starts a child. kOs with the errno of whatever failed in the child (ENOENT, EACCES, ENOEXEC,
  /// EAGAIN, ...) and its name; then no child exists and nothing needs reaping.
  virtual Result<pid_t> spawn(const SpawnRequest& request) = 0;
  /// To one child that was spawned here and not yet reaped; true when it was sent.
  virtual bool signal_child(pid_t pid, int signal) = 0;
  /// To the processes at and below a child for which the signal is meant (process_tree.h
  /// receivers_of). The child was spawned here and is not yet reaped. Returns whom it reached.
  virtual std::vector<pid_t> signal_tree(pid_t child, int signal) = 0;
  /// Sends `signal` to the process group that the child leads (it was spawned with new_session or
  /// new_group and is not yet reaped).
  virtual bool signal_group(pid_t pid, int signal) = 0;
  /// Sends `signal` to every descendant of this process, except those below `spared` children
  /// (empty = spare none). Returns how many were reached. O(descendants) when the kernel lists
  /// children, else O(all processes).
  virtual size_t signal_descendants(int signal, const std::vector<pid_t>& spared) = 0;
  /// Every descendant of this process, except `spared` children and what is below those.
  virtual std::vector<Descendant> descendants(const std::vector<pid_t>& spared) = 0;
  /// Sends `signal` to those of them that are still there. Returns whom it reached.
  virtual std::vector<pid_t> signal_all(const std::vector<Descendant>& descendants, int signal) = 0;
  /// Sends `signal` (0 = none, only counts) to every descendant that was started with `entry`
  /// ("NAME=value") in its environment, and to everything below those. Returns how many were
  /// reached. O(descendants).
  virtual size_t signal_marked(int signal, const std::string& entry) = 0;
  /// process_tree.h would_end_of.
  [[nodiscard]] virtual bool would_end_of(pid_t pid, int signal) const = 0;
  /// The signal that stopped a child which was spawned here and is not yet reaped, told once for
  /// each stop; 0 = it was not stopped, or goes on already.
  virtual int stop_signal(pid_t child) = 0;
  /// The next child or orphan that ended, none when there is none now. After this call the pid
  /// means nothing.
  virtual std::optional<Reaped> reap() = 0;
};

class RealProcessHost final : public ProcessHost {
 public:
  Result<pid_t> spawn(const SpawnRequest& request) override;
  bool signal_child(pid_t pid, int signal) override;
  std::vector<pid_t> signal_tree(pid_t child, int signal) override;
  bool signal_group(pid_t pid, int signal) override;
  size_t signal_descendants(int signal, const std::vector<pid_t>& spared) override;
  std::vector<Descendant> descendants(const std::vector<pid_t>& spared) override;
  std::vector<pid_t> signal_all(const std::vector<Descendant>& descendants, int signal) override;
  size_t signal_marked(int signal, const std::string& entry) override;
  [[nodiscard]] bool would_end_of(pid_t pid, int signal) const override {
    return muster::would_end_of(pid, signal);
  }
  int stop_signal(pid_t child) override;
  std::optional<Reaped> reap() override;

 private:
  std::set<pid_t> children_;  // until reaped: so long nobody else has their numbers
};

/// Starts a program and waits for its end, at most so long, after which it is killed; it is given
/// up after twice as long, if it hangs in a driver. Blocks, and reaps whatever ends meanwhile: for
/// what must be known before this process has other children. SIGCHLD must be blocked. kOs;
/// kTimeout.
Result<ExitStatus> run_to_end(const SpawnRequest& request, Duration limit);

/// SIGKILL to every process marked with `entry` (process_tree.h), in rounds until none is found any
/// more; gives up after about two seconds. Returns how many were reached. Blocks: for a process
/// that has no loop and is not their ancestor.
size_t kill_marked(const std::string& entry);

/// `signal` to every child of `parent` that is marked with `entry` (process_tree.h). `parent` must
/// not have been reaped. Returns how many were reached.
size_t signal_marked_children(pid_t parent, const std::string& entry, int signal);

/// Makes this process that program (execve), with all it has inherited. Comes back only with why
/// not, kOs.
Error become_program(const std::string& path, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment);

/// Stops this process (SIGSTOP) until somebody continues it. As PID 1 it does nothing.
void suspend_self();

/// Sends a signal to our own process group, us included. Other members are who runs us: a shell
/// script, make.
void signal_own_group(int signal);

/// Makes orphans of our descendants our children (prctl PR_SET_CHILD_SUBREAPER). kOs.
Status become_subreaper();

}  // namespace muster
