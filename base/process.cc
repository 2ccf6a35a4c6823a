#include "base/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" {
#include <sys/pidfd.h>  // glibc 2.36 forgot to say so itself
}

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/exec_error.h"
#include "base/process_tree.h"
#include "base/signals.h"

namespace muster {

namespace {

constexpr size_t kChildStackBytes =
    32 * 1024;  // the child makes a dozen system calls and then execs

// kill_marked: each round finds what was forked during the last; a process in the middle of its
// exec has no environment to be seen for a moment, so one empty round is not yet the end.
constexpr int kMaxKillRounds = 200;
constexpr int kEmptyKillRounds = 3;
constexpr int kKillRoundPauseMs = 10;

// All that the child needs, laid out before it exists: between clone and exec nothing may allocate.
struct ChildPlan {
  const SpawnRequest* request = nullptr;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::vector<unsigned long> cpu_mask;
  rlimit fd_limit{};
  pid_t parent = 0;
  const char* failed_call = nullptr;  // written by the child: it shares our memory until it execs
  int child_errno = 0;
};

std::vector<char*> as_exec_array(const std::vector<std::string>& strings) {
  std::vector<char*> array;
  array.reserve(strings.size() + 1);
  for (const std::string& text : strings)
    array.push_back(const_cast<char*>(text.c_str()));  // execve writes nothing
  array.push_back(nullptr);
  return array;
}

std::vector<unsigned long> as_cpu_mask(const CpuSet& cpus) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask;
  for (const int cpu : cpus) {
    const auto index = static_cast<size_t>(cpu);
    if (mask.size() <= index / kBits) mask.resize(index / kBits + 1);
    mask[index / kBits] |= 1UL << (index % kBits);
  }
  return mask;
}

[[noreturn]] void child_fails(ChildPlan& plan, const char* call) {
  plan.child_errno = errno;
  plan.failed_call = call;
  _exit(127);
}

// We handle no signal, so SIGPIPE is the only disposition that we ever changed; what our own parent
// chose to ignore (nohup: SIGHUP) stays ignored.
void restore_dispositions(const SpawnRequest& request) {
  struct sigaction to_default {};
  to_default.sa_handler = SIG_DFL;
  if (request.default_signals) {
    // SIGKILL, SIGSTOP and the two that the C library keeps are refused, which is fine.
    for (int signal = 1; signal <= SIGRTMAX; ++signal)
      (void)sigaction(signal, &to_default, nullptr);
  }
  if (!request.ignore_sigpipe) (void)sigaction(SIGPIPE, &to_default, nullptr);  // cannot fail
}

void move_descriptor(ChildPlan& plan, int from, int to) {
  if (from >= 0 && dup2(from, to) < 0) child_fails(plan, "dup2");
}

// Everything above 2 closes at exec, also what our own parent let us inherit by mistake.
void keep_only_standard_descriptors() {
  if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  constexpr int kLastTried = 1024;  // kernels before 5.11: as far as is cheap
  for (int fd = 3; fd < kLastTried; ++fd) (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

// Runs in the child on its own stack, in our memory, while we stand still. Only async-signal-safe
// calls.
int child_main(void* argument) {
  auto& plan = *static_cast<ChildPlan*>(argument);
  const SpawnRequest& request = *plan.request;
  if (request.new_session && setsid() < 0) child_fails(plan, "setsid");
  if (request.new_group && setpgid(0, 0) != 0) child_fails(plan, "setpgid");
  // A terminal that was hung up is no reason not to start.
  if (request.foreground_of >= 0) (void)tcsetpgrp(request.foreground_of, getpid());
  if (request.parent_death_signal != 0) {
    if (prctl(PR_SET_PDEATHSIG, request.parent_death_signal) != 0)
      child_fails(plan, "prctl PR_SET_PDEATHSIG");
    if (getppid() != plan.parent) _exit(127);  // we died in between
  }
  if (request.network_namespace >= 0 && setns(request.network_namespace, CLONE_NEWNET) != 0)
    child_fails(plan, "setns");
  restore_dispositions(request);
  move_descriptor(plan, request.stdin_fd, STDIN_FILENO);
  move_descriptor(plan, request.stdout_fd, STDOUT_FILENO);
  move_descriptor(plan, request.stderr_fd, STDERR_FILENO);
  keep_only_standard_descriptors();
  if (request.kept_fd >= 0 && fcntl(request.kept_fd, F_SETFD, 0) != 0) child_fails(plan, "fcntl");
  if (!request.working_directory.empty() && chdir(request.working_directory.c_str()) != 0)
    child_fails(plan, "chdir");
  if (request.fd_limit != 0 && setrlimit(RLIMIT_NOFILE, &plan.fd_limit) != 0)
    child_fails(plan, "setrlimit");
  if (!plan.cpu_mask.empty() &&
      syscall(SYS_sched_setaffinity, 0, plan.cpu_mask.size() * sizeof(unsigned long),
              plan.cpu_mask.data()) != 0) {
    child_fails(plan, "sched_setaffinity");
  }
  if (sigprocmask(SIG_SETMASK, &request.signal_mask, nullptr) != 0)
    child_fails(plan, "sigprocmask");
  execve(request.program.c_str(), plan.arguments.data(), plan.environment.data());
  child_fails(plan, "exec");
}

Result<rlimit> fd_limit_of(const SpawnRequest& request) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return os_error("getrlimit RLIMIT_NOFILE");
  limit.rlim_cur = std::min<rlim_t>(request.fd_limit, limit.rlim_max);
  return limit;
}

ExitStatus to_exit_status(const siginfo_t& info) {
  ExitStatus status;
  if (info.si_code == CLD_EXITED) {
    status.code = info.si_status;
  } else {
    status.signal = info.si_status;
    status.core_dumped = info.si_code == CLD_DUMPED;
  }
  return status;
}

// The kernel's word for it does not say what is wrong with a file that is there.
Error exec_error(const std::string& program, int os_errno) {
  Error error = os_error("exec '" + program + "'", os_errno);
  const UniqueFd file(open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char head[kProgramHeadBytes];
  const ssize_t count = file.is_open() ? read(file.get(), head, sizeof head) : -1;
  if (count < 0) return error;
  const std::string why = why_not_executed(os_errno, {head, static_cast<size_t>(count)});
  if (!why.empty()) error.text = "exec '" + program + "': " + why;
  return error;
}

Error start_error(const ChildPlan& plan, const std::string& program) {
  const std::string_view call = plan.failed_call;
  if (call == "exec") return exec_error(program, plan.child_errno);
  const std::string& object = call == "chdir" ? plan.request->working_directory : program;
  return os_error(std::string(call) + " '" + object + "'", plan.child_errno);
}

// Seccomp profiles refuse system calls that are younger than they are. Then the number has to do.
bool is_refused(int error) {
  return error == EPERM || error == ENOSYS || error == EMFILE || error == ENFILE;
}

// `pidfd` not open = it was refused.
bool send_signal(pid_t pid, const UniqueFd& pidfd, int signal) {
  if (pidfd.is_open()) {
    if (pidfd_send_signal(pidfd.get(), signal, nullptr, 0) == 0) return true;
    if (!is_refused(errno)) return false;
  }
  return kill(pid, signal) == 0;
}

// Sends a signal to the process that `still_the_same` looks at once more behind the pidfd: so its
// number cannot have changed hands since it was found.
template <typename StillTheSame>
bool signal_process(pid_t pid, int signal, const StillTheSame& still_the_same) {
  const UniqueFd pidfd(pidfd_open(pid, 0));
  if (!pidfd.is_open() && !is_refused(errno)) return false;
  return still_the_same() && send_signal(pid, pidfd, signal);
}

}  // namespace

std::string ExitStatus::describe() const {
  if (signal == 0) return "exit code " + std::to_string(code);
  return signal_name(signal) + (core_dumped ? " (core dumped)" : "");
}

Result<pid_t> RealProcessHost::spawn(const SpawnRequest& request) {
  ChildPlan plan;
  plan.request = &request;
  plan.arguments = as_exec_array(request.arguments);
  plan.environment = as_exec_array(request.environment);
  plan.cpu_mask = as_cpu_mask(request.cpus);
  plan.parent = getpid();
  auto fd_limit = fd_limit_of(request);
  if (!fd_limit) return std::move(fd_limit).error();
  plan.fd_limit = *fd_limit;

  const auto stack = std::make_unique_for_overwrite<char[]>(kChildStackBytes);
  char* stack_top = stack.get() + kChildStackBytes;
  stack_top -= reinterpret_cast<uintptr_t>(stack_top) % 16;  // the ABI's stack alignment
  const pid_t pid = clone(child_main, stack_top, CLONE_VM | CLONE_VFORK | SIGCHLD, &plan);
  if (pid < 0) return os_error("clone for '" + request.program + "'");
  if (plan.failed_call != nullptr) {
    siginfo_t info{};
    (void)waitid(P_PID, static_cast<id_t>(pid), &info,
                 WEXITED);  // it has exited already: nothing to wait for
    return start_error(plan, request.program);
  }
  children_.insert(pid);
  return pid;
}

bool RealProcessHost::signal_child(pid_t pid, int signal) {
  return children_.contains(pid) && kill(pid, signal) == 0;
}

std::vector<pid_t> RealProcessHost::signal_tree(pid_t child, int signal) {
  if (!children_.contains(child)) return {};
  return signal_all(receivers_of(child, getpid(), signal), signal);
}

bool RealProcessHost::signal_group(pid_t pid, int signal) {
  return children_.contains(pid) && kill(-pid, signal) == 0;
}

std::vector<Descendant> RealProcessHost::descendants(const std::vector<pid_t>& spared) {
  // All who came from us are below a child of ours, for orphans become our children: without a
  // child there is nobody. That spares a look through /proc at the end of every attempt that went
  // well.
  siginfo_t any{};
  if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) != 0 && errno == ECHILD) return {};
  return descendants_of(getpid(), spared);
}

std::vector<pid_t> RealProcessHost::signal_all(const std::vector<Descendant>& descendants,
                                               int signal) {
  std::vector<std::pair<pid_t, UniqueFd>> found;
  for (const Descendant& descendant : descendants) {
    UniqueFd pidfd(pidfd_open(descendant.pid, 0));
    if (!pidfd.is_open() && !is_refused(errno)) continue;
    if (is_child_of(descendant.pid, descendant.parent))
      found.emplace_back(descendant.pid, std::move(pidfd));
  }
  // Only now: a child whose parent is gone could not be told from a stranger.
  std::vector<pid_t> reached;
  for (const auto& [pid, pidfd] : found) {
    if (send_signal(pid, pidfd, signal)) reached.push_back(pid);
  }
  return reached;
}

size_t RealProcessHost::signal_descendants(int signal, const std::vector<pid_t>& spared) {
  return signal_all(descendants(spared), signal).size();
}

size_t RealProcessHost::signal_marked(int signal, const std::string& entry) {
  std::set<pid_t> marked;  // parents are listed before their children
  std::vector<Descendant> found;
  for (const Descendant& descendant : descendants_of(getpid(), {})) {
    if (!marked.contains(descendant.parent) && !is_marked_with(descendant.pid, entry)) continue;
    marked.insert(descendant.pid);
    found.push_back(descendant);
  }
  return signal_all(found, signal).size();
}

int RealProcessHost::stop_signal(pid_t child) {
  siginfo_t info{};
  const bool stopped = children_.contains(child) &&
                       waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOHANG) == 0 &&
                       info.si_pid != 0;
  return stopped ? info.si_status : 0;
}

std::optional<Reaped> RealProcessHost::reap() {
  siginfo_t info{};
  // First look, then forget the pid everywhere, then reap: the number cannot be reused in between.
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return std::nullopt;
  const Reaped reaped{info.si_pid, to_exit_status(info), children_.erase(info.si_pid) > 0};
  (void)waitid(P_PID, static_cast<id_t>(info.si_pid), &info,
               WEXITED | WNOHANG);  // cannot fail: it is there
  return reaped;
}

Result<ExitStatus> run_to_end(const SpawnRequest& request, Duration limit) {
  RealProcessHost host;
  const auto pid = host.spawn(request);
  if (!pid) return Error(pid.error());
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  const SystemClock clock;
  const TimePoint until = clock.now() + limit;
  bool killed = false;
  for (;;) {
    while (const auto reaped = host.reap()) {
      if (reaped->pid != *pid) continue;
      if (killed) return Error{Code::kTimeout, 0, request.program + " took too long"};
      return reaped->status;
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(killed ? limit : until - clock.now());
    const auto wait = std::max(left, std::chrono::nanoseconds(0));
    const timespec time{wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    if (sigtimedwait(&child, nullptr, &time) >= 0 || errno != EAGAIN) continue;
    if (killed) return Error{Code::kTimeout, 0, request.program + " is stuck in the kernel"};
    killed = host.signal_child(*pid, SIGKILL);
  }
}

size_t kill_marked(const std::string& entry) {
  size_t reached = 0;
  int empty_rounds = 0;
  for (int round = 0; round < kMaxKillRounds && empty_rounds < kEmptyKillRounds; ++round) {
    const size_t before = reached;
    for (const pid_t pid : processes_marked_with(entry)) {
      const bool sent = pid != getpid() && signal_process(pid, SIGKILL, [pid, &entry] {
                          return is_marked_with(pid, entry);
                        });
      if (sent) ++reached;
    }
    empty_rounds = reached == before ? empty_rounds + 1 : 0;
    (void)poll(nullptr, 0, kKillRoundPauseMs);  // a pause; nothing can fail
  }
  return reached;
}

size_t signal_marked_children(pid_t parent, const std::string& entry, int signal) {
  size_t reached = 0;
  for (const Descendant& child : descendants_of(parent, {})) {
    if (child.parent != parent) continue;
    const bool sent = signal_process(child.pid, signal, [&child, parent, &entry] {
      return is_child_of(child.pid, parent) && is_marked_with(child.pid, entry);
    });
    if (sent) ++reached;
  }
  return reached;
}

Error become_program(const std::string& path, const std::vector<std::string>& arguments,
                     const std::vector<std::string>& environment) {
  execve(path.c_str(), as_exec_array(arguments).data(), as_exec_array(environment).data());
  return exec_error(path, errno);
}

void suspend_self() { (void)raise(SIGSTOP); }  // cannot fail

void signal_own_group(int signal) { (void)kill(0, signal); }  // cannot fail: we are in it

Status become_subreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return os_error("prctl PR_SET_CHILD_SUBREAPER");
  return {};
}

}  // namespace muster
