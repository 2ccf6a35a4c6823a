#include "mpi/ssh/mpi_ssh_verb.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "base/exit_code.h"
#include "base/process.h"
#include "base/process/own_binary.h"
#include "base/signals.h"
#include "base/text.h"
#include "mpi/launch/rsh_command_line.h"
#include "mpi/rsh/rsh_client.h"
#include "mpi/ssh/ssh_config.h"
#include "mpi/ssh/ssh_reports.h"

namespace muster::mpi {

namespace {

std::string in(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

// Starts ssh, reports its begin and its end, and ends as it does. What ends this process ends ssh,
// too.
Result<int> watch_ssh(const SpawnRequest& ssh, const std::string& host, const UniqueFd& reports) {
  sigset_t child_ended;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  if (sigprocmask(SIG_BLOCK, &child_ended, nullptr) != 0) return os_error("sigprocmask");
  MUSTER_RETURN_IF_ERROR(keep_children());
  RealProcessHost processes;
  const auto pid = processes.spawn(ssh);
  if (!pid) return Error(pid.error());
  send_ssh_report(reports, {host, getpid()});
  for (;;) {
    while (const auto ended = processes.reap()) {
      if (ended->pid != *pid) continue;
      send_ssh_report(reports, {host, getpid(), ended->status});
      return ended->status.shell_code();
    }
    (void)sigwaitinfo(&child_ended, nullptr);  // an interruption is one more look
  }
}

}  // namespace

bool is_ssh_name(std::string_view called_as) { return base_name(called_as) == kSshLink; }

Environment ssh_program_environment(Environment outer, const std::string& folder) {
  const std::string library = in(folder, kSshAccountLibrary);
  if (access(library.c_str(), R_OK) == 0) outer.set("LD_PRELOAD", library);
  return outer;
}

int run_ssh_verb(const std::vector<std::string>& words, const Environment& environment,
                 std::FILE* errors) {
  const auto folder = environment.get(kSshFolderVariable);
  if (!folder || folder->empty()) {
    return complain(errors, kSshLink,
                    "MUSTER_SSH is not set: it is for the launcher that `muster run --framework "
                    "mpi --mpi-transport ssh` starts",
                    kRshFailed);
  }
  const std::string own(*folder);
  const std::string program = in(own, kSshClientLink);
  const auto variables = ssh_program_environment(environment, own).to_exec_strings();
  std::vector<std::string> arguments = {"ssh", "-F", in(own, kSshClientConfigFile)};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const auto called = parse_rsh_command_line(words);
  const UniqueFd reports = open_ssh_reports(own);
  if (called && reports.is_open()) {
    SpawnRequest ssh;
    ssh.program = program;
    ssh.arguments = arguments;
    ssh.environment = variables;
    ssh.new_session = false;
    ssh.parent_death_signal = SIGTERM;
    const auto code = watch_ssh(ssh, called->host, reports);
    if (code) return *code;
    return complain(errors, kSshLink, code.error().text, kRshFailed);
  }
  // The launcher may die without a word, and ssh would not notice.
  const pid_t parent = getppid();
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);  // best effort: the end of the round ends it, too
  if (getppid() != parent) return kRshFailed;
  const Error error = become_program(program, arguments, variables);
  return complain(errors, kSshLink, error.text, kRshFailed);
}

}  // namespace muster::mpi
