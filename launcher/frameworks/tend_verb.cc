#include "launcher/frameworks/tend_verb.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <set>

#include "base/exit_code.h"
#include "base/process.h"
#include "base/process_tree.h"
#include "base/signals.h"
#include "launcher/frameworks/mpi_ranks.h"

namespace muster::launcher {

namespace {

// muster-ssh: a child that runs this binary.
bool is_connection(pid_t pid) {
  struct stat own {
  }, its{};
  const std::string path = "/proc/" + std::to_string(pid) + "/exe";
  return stat("/proc/self/exe", &own) == 0 && stat(path.c_str(), &its) == 0 &&
         own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

std::set<pid_t> connections() {
  std::set<pid_t> found;
  for (const Descendant& child : descendants_of(getpid(), {})) {
    if (child.parent == getpid() && is_connection(child.pid)) found.insert(child.pid);
  }
  return found;
}

class Tender {
 public:
  Tender() { sigfillset(&all_); }

  // With every signal blocked.
  Result<ExitStatus> run(const SpawnRequest& request) {
    const auto pid = processes_.spawn(request);
    if (!pid) return Error(pid.error());
    for (;;) {
      const int signal = sigwaitinfo(&all_, nullptr);
      if (signal != SIGCHLD && signal > 0) (void)processes_.signal_child(*pid, signal);
      while (const auto ended = processes_.reap()) {
        if (ended->pid == *pid) return ended->status;
      }
    }
  }

  // After the launcher's end. What speaks against it; "" = nothing.
  std::string objection() {
    const TimePoint deadline = clock_.now() + kConnectionEnd;
    std::set<pid_t> open = connections();
    while (!open.empty()) {
      while (const auto ended = processes_.reap()) {
        const bool ours = open.erase(ended->pid) != 0;
        // A signal is the launcher's, which needs it no more.
        if (ours && ended->status.signal == 0 && ended->status.code != 0)
          return "a connection to a node ended with " + std::to_string(ended->status.code);
      }
      if (open.empty()) break;
      if (!wait_until(deadline))
        return fmt::format("{} s later {} of its connections to nodes had not ended",
                           to_seconds(kConnectionEnd), open.size());
    }
    return "";
  }

 private:
  // A signal, or false at `deadline`. One that asks for the end is obeyed by the agent's sweep.
  bool wait_until(TimePoint deadline) {
    const Duration left = deadline - clock_.now();
    if (left <= Duration::zero()) return false;
    const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    return sigtimedwait(&all_, nullptr, &time) > 0;
  }

  SystemClock clock_;
  RealProcessHost processes_;
  sigset_t all_{};
};

}  // namespace

int run_tend_verb(const std::vector<std::string>& words, const Environment& environment,
                  std::FILE* errors) {
  if (words.size() < 2)
    return complain(errors, "muster", "the verb tend is for muster's own use", kExitUsage);
  const auto mask = block_signals();
  if (!mask) return complain(errors, "muster", mask.error().text, kExitOs);
  if (const Status reaper = become_subreaper(); !reaper)
    return complain(errors, "muster", reaper.error().text, kExitOs);
  SpawnRequest request;
  request.program = words[0];
  request.arguments = {words.begin() + 1, words.end()};
  request.environment = environment.to_exec_strings();
  request.signal_mask = *mask;
  // The agent suspends and continues a worker with its group (SIGSTOP cannot be passed on). So what
  // others send to the group comes to the launcher twice; the agent sends nothing else to it.
  request.new_session = false;
  Tender tender;
  const auto status = tender.run(request);
  if (!status)
    return complain(errors, "muster", status.error().text,
                    start_failure_code(status.error().os_errno));
  if (!status->success()) return status->shell_code();
  const std::string objection = tender.objection();
  if (objection.empty()) return 0;
  return complain(errors, "muster", request.program + " ended with 0, but " + objection,
                  kExitUntruthful);
}

}  // namespace muster::launcher
