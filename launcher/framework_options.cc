#include "launcher/framework_options.h"

#include <algorithm>

namespace muster::launcher {

std::string role_problem(MpiRole role, const RoleSurroundings& given) {
  const bool needs_others = role == MpiRole::kLauncher || role == MpiRole::kWorker;
  if (role == MpiRole::kAny) return "";
  if (!given.c10d) return "the launcher leads, so --rdzv-backend must be c10d";
  if (needs_others && !given.alone.empty()) return "there is no other node with " + given.alone;
  if (role == MpiRole::kWorker && !given.others_named)
    return "where the launcher is is not known: give --rdzv-endpoint LAUNCHER";
  return "";
}

std::optional<MpiLaunch> implied_launch(std::string_view program,
                                        const std::vector<std::string>& arguments) {
  if (program.substr(program.rfind('/') + 1) != "horovodrun") return std::nullopt;
  const bool discovers = std::any_of(arguments.begin(), arguments.end(), [](const auto& word) {
    return word.starts_with("--host-discovery-script");
  });
  return discovers ? MpiLaunch::kElastic : MpiLaunch::kCommand;
}

std::optional<FlagRemark> framework_problem(const FrameworkOptions& options) {
  using mpi::Implementation;
  if (options.uses_pmi() && options.mpi == Implementation::kOpenMpi)
    return FlagRemark{Flag::kMpiLaunch, "pmi: Open MPI speaks PMIx, not PMI 1: say pmix"};
  if (options.uses_pmix() && options.mpi && options.mpi != Implementation::kOpenMpi)
    return FlagRemark{Flag::kMpiLaunch,
                      "pmix: that is for Open MPI; MPICH and Intel MPI speak pmi"};
  if (options.starts_ranks() && options.mpi_transport != MpiTransport::kRsh)
    return FlagRemark{Flag::kMpiTransport, "ssh: only mpirun starts anything on other nodes"};
  if (options.runs_command() && options.mpi_transport != MpiTransport::kRsh)
    return FlagRemark{Flag::kMpiTransport,
                      "ssh: a launcher of your own finds `muster rsh` under the name ssh"};
  if (options.uses_sshd() && options.role == MpiRole::kWorker)
    return FlagRemark{Flag::kMpiTransport, "sshd: then the workers run sshd, and Muster in none"};
  return std::nullopt;
}

std::vector<FlagRemark> idle_flags(const FrameworkOptions& options) {
  std::vector<FlagRemark> idle;
  if (!options.uses_ssh() && !options.uses_sshd()) {
    for (const Flag flag : {Flag::kMpiSshKeys, Flag::kMpiSshPort})
      idle.push_back({flag, "--mpi-transport ssh"});
  }
  if (!options.is_mpi()) {
    for (const Flag flag : {Flag::kMpi, Flag::kMpiLaunch, Flag::kMpiRole, Flag::kMpiTransport,
                            Flag::kMpiStartTimeout})
      idle.push_back({flag, "--framework mpi"});
  } else if (!options.uses_mpirun()) {
    idle.push_back({Flag::kMpiStartTimeout, "mpirun"});
    if (options.runs_command()) idle.push_back({Flag::kMpi, "mpirun"});
  }
  return idle;
}

}  // namespace muster::launcher
