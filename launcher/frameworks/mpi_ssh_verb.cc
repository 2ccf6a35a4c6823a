#include "launcher/frameworks/mpi_ssh_verb.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "base/process.h"
#include "base/text.h"
#include "launcher/own_binary.h"
#include "launcher/rsh/rsh_client.h"
#include "mpi/ssh_account.h"
#include "mpi/ssh_config.h"

namespace muster::launcher {

namespace {

std::string in(const std::string& folder, std::string_view name) {
  return folder + "/" + std::string(name);
}

}  // namespace

bool is_ssh_name(std::string_view called_as) { return base_name(called_as) == kSshLink; }

Environment ssh_program_environment(Environment outer, const std::string& folder) {
  outer.set("LD_PRELOAD", in(folder, kSshAccountLibrary));
  outer.set(mpi::kSshAccountVariable, std::to_string(getuid()) + ":" + std::to_string(getgid()));
  return outer;
}

int run_ssh_verb(const std::vector<std::string>& words, const Environment& environment,
                 std::FILE* errors) {
  const auto folder = environment.get(kSshFolderVariable);
  if (!folder || folder->empty()) {
    (void)std::fprintf(errors,
                       "muster-ssh: MUSTER_SSH is not set: it is for the launcher that `muster run "
                       "--framework mpi --mpi-transport ssh` starts\n");
    return kRshFailed;
  }
  // The launcher may die without a word, and ssh would not notice.
  const pid_t parent = getppid();
  (void)prctl(PR_SET_PDEATHSIG, SIGTERM);  // best effort: the end of the round ends it, too
  if (getppid() != parent) return kRshFailed;
  const std::string own(*folder);
  std::vector<std::string> arguments = {"ssh", "-F", in(own, mpi::kSshClientConfigFile)};
  arguments.insert(arguments.end(), words.begin(), words.end());
  const Error error = become_program(in(own, kSshClientLink), arguments,
                                     ssh_program_environment(environment, own).to_exec_strings());
  (void)std::fprintf(errors, "muster-ssh: %s\n", error.text.c_str());
  return kRshFailed;
}

}  // namespace muster::launcher
