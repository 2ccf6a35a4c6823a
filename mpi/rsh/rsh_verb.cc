#include "mpi/rsh/rsh_verb.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <optional>
#include <utility>

#include "base/exit_code.h"
#include "base/process/verb_loop.h"
#include "base/signals.h"
#include "base/text.h"
#include "mpi/rsh/rsh_client.h"
#include "mpi/rsh/rsh_door.h"
#include "mpi/rsh/rsh_environment.h"

namespace muster::mpi {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"ssh", "rsh", "muster-rsh", "kubexec.sh"};

constexpr const char* kHelp =
    "usage: muster rsh [ssh's options] [user@]HOST COMMAND...\n"
    "\n"
    "Runs COMMAND (joined with spaces, for /bin/sh) on the node HOST of this job: the remote "
    "shell\n"
    "for mpirun and others, in place of ssh. HOST is a node's name, in full or up to the first "
    "dot,\n"
    "or its address; no name is resolved. Works below the workers of `muster run --rsh`. Links\n"
    "called ssh, rsh, muster-rsh or kubexec.sh do the same. ssh's options are taken and ignored\n"
    "but for -n and -l.\n"
    "\n"
    "Exit code: the command's, 128 + N after signal N, 255 when it could not be run or was lost.\n";

// The inherited flags of a descriptor are not ours alone, so pipes and terminals are opened anew.
// A socket cannot be; it is read when it is ready, as long as nobody else reads it.
UniqueFd open_stdin() {
  struct stat info {};
  if (fstat(STDIN_FILENO, &info) != 0) return UniqueFd();
  if (S_ISFIFO(info.st_mode) || isatty(STDIN_FILENO) == 1) {
    UniqueFd own(open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (own.is_open()) return own;
  }
  return UniqueFd(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
}

// Closing stdout for its reader while the number stays taken, so that nothing else gets it.
void close_standard(int fd) {
  const UniqueFd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere.is_open()) (void)dup2(nowhere.get(), fd);  // else the reader waits for our exit
}

RshTarget standard_target(int fd) {
  auto console = std::make_shared<std::optional<ConsoleFd>>(std::in_place, fd);
  return {.fd = (*console)->fd(),
          .write = [console](std::string_view bytes) { return (*console)->write(bytes); },
          .close =
              [console, fd] {
                console->reset();
                // stderr stays for a last line of our own.
                if (fd != STDERR_FILENO) close_standard(fd);
              }};
}

// Below a command the agent is that of the command's node, whatever MUSTER_RSH_AGENT says: Hydra
// gives the ranks of all nodes what its launcher has, but not what the launcher has not.
Result<UniqueFd> connect_to_agent(const Environment& environment) {
  if (const auto request = environment.get(kRshRequestVariable)) {
    auto agent = connect_to_door(rsh_door_name(request->substr(0, request->rfind('-'))));
    if (agent) return agent;
  }
  const auto door = environment.get(kRshAgentVariable);
  if (!door) {
    return Error{Code::kConfig, 0,
                 std::string(kRshAgentVariable) +
                     " is not set: call it from a worker of `muster run --rsh`"};
  }
  auto agent = connect_to_door(*door);
  if (agent) return agent;
  const bool absent = agent.error().code == Code::kPeer;
  return std::move(agent).error().with_context(absent ? "this node's agent"
                                                      : std::string(kRshAgentVariable));
}

struct Outcome {
  int exit_code = kRshFailed;
  std::string why;
};

Result<Outcome> make_call(RshCommandLine call, const Environment& environment,
                          const ProcessSetup& setup) {
  // Whoever called us may die of SIGKILL; then the command must end, too. SIGCHLD, because nothing
  // else sends it to us: a caller's thread that ends also counts as death, and the check tells.
  const pid_t parent = getppid();
  if (prctl(PR_SET_PDEATHSIG, SIGCHLD) != 0) return os_error("prctl PR_SET_PDEATHSIG");
  auto agent = connect_to_agent(environment);
  if (!agent) return std::move(agent).error();
  auto made = VerbLoop::create();
  if (!made) return std::move(made).error();
  VerbLoop& verb = **made;
  Outcome outcome;
  UniqueFd input = call.no_stdin ? UniqueFd() : open_stdin();
  RshClient client({.loop = verb.loop(),
                    .agent = std::move(*agent),
                    .call = std::move(call),
                    .stdin_fd = std::move(input),
                    .stdout_target = standard_target(STDOUT_FILENO),
                    .stderr_target = standard_target(STDERR_FILENO)},
                   [&outcome, &verb](int exit_code, const std::string& why) {
                     outcome = {exit_code, why};
                     verb.stop();
                   });
  if (getppid() != parent) return outcome;  // it died before the prctl
  client.start();
  const auto on_signal = [&client, parent](const ReceivedSignal& signal) {
    if (signal.number != SIGCHLD) client.handle_signal(signal.number);
    if (getppid() != parent) client.caller_gone();
  };
  MUSTER_RETURN_IF_ERROR(verb.run(setup.signal_fd.get(), on_signal));
  return outcome;
}

}  // namespace

bool is_rsh_name(std::string_view called_as) {
  const std::string_view name = base_name(called_as);
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

int run_rsh_verb(const std::vector<std::string>& words, const Environment& environment,
                 const ProcessSetup& setup, std::FILE* output, std::FILE* errors) {
  if (!words.empty() && words[0] == "--help") {
    (void)std::fputs(kHelp, output);  // nobody is left to tell
    return 0;
  }
  auto call = parse_rsh_command_line(words);
  auto outcome = call ? make_call(std::move(*call), environment, setup)
                      : Result<Outcome>(std::move(call).error());
  if (!outcome) outcome = Outcome{kRshFailed, outcome.error().text};
  if (outcome->why.empty()) return outcome->exit_code;
  return complain(errors, "muster rsh", outcome->why, outcome->exit_code);
}

}  // namespace muster::mpi
