#include "launcher/resolve_framework.h"

#include <algorithm>

#include "base/text.h"
#include "launcher/framework_values.h"
#include "launcher/option_values.h"

namespace muster::launcher {

namespace {

void check_launch(FlagReader& flags, const FrameworkOptions& chosen) {
  using mpi::Implementation;
  if (chosen.uses_pmi() && chosen.mpi == Implementation::kOpenMpi)
    flags.fail(Flag::kMpiLaunch,
               flags.label(Flag::kMpi) + " openmpi speaks PMIx, not PMI 1: say pmix");
  if (chosen.uses_pmix() && chosen.mpi && chosen.mpi != Implementation::kOpenMpi) {
    flags.fail(Flag::kMpiLaunch, "that is for Open MPI; with " + flags.label(Flag::kMpi) + " " +
                                     flags.text(Flag::kMpi) + " say pmi");
  }
}

void check_transport(FlagReader& flags, const FrameworkOptions& chosen) {
  if (chosen.mpi_transport == MpiTransport::kRsh) return;
  if (chosen.starts_ranks()) {
    flags.fail(Flag::kMpiTransport, "with " + flags.label(Flag::kMpiLaunch) + " " +
                                        flags.text(Flag::kMpiLaunch) +
                                        " the agents start the ranks: only mpirun starts anything "
                                        "on other nodes");
  }
  if (chosen.runs_command()) {
    flags.fail(Flag::kMpiTransport,
               "a launcher of your own finds `muster rsh` under the name ssh: only mpirun has "
               "another way to other nodes");
  }
  if (chosen.uses_sshd() && chosen.role == MpiRole::kWorker) {
    flags.fail(Flag::kMpiTransport, "then workers run sshd and not Muster: " +
                                        flags.label(Flag::kMpiRole) + " worker cannot be");
  }
}

void warn_of_idle(FlagReader& flags, const FrameworkOptions& chosen) {
  const auto warn = [&flags](Flag flag, const std::string& lacks) {
    if (flags.on_command_line(flag))
      flags.warn(flags.label(flag) + " has no effect without " + lacks);
  };
  if (!chosen.uses_ssh() && !chosen.uses_sshd()) {
    for (const Flag flag : {Flag::kMpiSshKeys, Flag::kMpiSshPort})
      warn(flag, "--mpi-transport ssh or sshd");
  }
  if (!chosen.is_mpi()) {
    for (const Flag flag : {Flag::kMpi, Flag::kMpiLaunch, Flag::kMpiRole, Flag::kMpiTransport,
                            Flag::kMpiStartTimeout})
      warn(flag, "--framework mpi");
  } else if (!chosen.uses_mpirun()) {
    if (chosen.uses_pmi() || chosen.is_elastic())
      warn(Flag::kMpiStartTimeout, "--mpi-launch mpirun, command or pmix");
    if (chosen.runs_command()) warn(Flag::kMpi, "--mpi-launch mpirun");
  }
}

}  // namespace

FrameworkOptions read_framework(FlagReader& flags, const std::string& program,
                                const std::vector<std::string>& arguments) {
  FrameworkOptions chosen;
  chosen.framework = flags.read(Flag::kFramework, parse_framework);
  chosen.mpi = flags.read(Flag::kMpi, parse_mpi);
  chosen.mpi_launch = flags.read(Flag::kMpiLaunch, parse_mpi_launch);
  chosen.mpi_launch_given = flags.is_given(Flag::kMpiLaunch);
  if (const auto implied = implied_launch(program, arguments);
      implied && chosen.is_mpi() && !chosen.mpi_launch_given) {
    chosen.mpi_launch = *implied;
    flags.derive(Flag::kMpiLaunch, chosen.is_elastic() ? "elastic" : "command", program);
  }
  chosen.role = flags.read(Flag::kMpiRole, parse_mpi_role);
  flags.check(Flag::kContract, check_contract);
  chosen.mpi_start_timeout = flags.read(Flag::kMpiStartTimeout, parse_mpi_start_timeout);
  chosen.mpi_transport = flags.read(Flag::kMpiTransport, parse_mpi_transport);
  chosen.mpi_ssh_keys = flags.text(Flag::kMpiSshKeys);
  chosen.mpi_ssh_port = flags.read(Flag::kMpiSshPort, parse_port);
  check_launch(flags, chosen);
  check_transport(flags, chosen);
  warn_of_idle(flags, chosen);
  // With sshd there is no other agent, whoever has ranks.
  if (!chosen.is_mpi() || chosen.uses_sshd()) chosen.role = MpiRole::kAny;
  return chosen;
}

void check_sshd(FlagReader& flags, const WorkerCount& workers) {
  const std::string with =
      "with " + flags.label(Flag::kMpiTransport) + " " + flags.text(Flag::kMpiTransport) + " ";
  const GivenValue* const nodes = flags.find(Flag::kNnodes);
  if (nodes != nullptr && nodes->kind != SourceKind::kContract) {
    flags.fail(Flag::kNnodes,
               with + "the nodes are all those of the controller's list: leave it out");
  }
  if (workers.kind != WorkerCountKind::kNumber) {
    flags.fail(Flag::kNprocPerNode,
               with +
                   "nobody on the nodes can count what they have: give a number, or none where "
                   "the controller's list has slots");
  }
}

std::optional<MpiLaunch> implied_launch(std::string_view program,
                                        const std::vector<std::string>& arguments) {
  if (base_name(program) != "horovodrun") return std::nullopt;
  const bool discovers = std::any_of(arguments.begin(), arguments.end(), [](const auto& word) {
    return word.starts_with("--host-discovery-script");
  });
  return discovers ? MpiLaunch::kElastic : MpiLaunch::kCommand;
}

std::string role_problem(MpiRole role, const RoleSurroundings& given) {
  const bool needs_others = role == MpiRole::kLauncher || role == MpiRole::kWorker;
  if (role == MpiRole::kAny) return "";
  if (!given.c10d) return "the launcher leads, so --rdzv-backend must be c10d";
  if (needs_others && !given.alone.empty()) return "there is no other node with " + given.alone;
  if (role == MpiRole::kWorker && !given.others_named)
    return "where the launcher is is not known: give --rdzv-endpoint LAUNCHER";
  return "";
}

}  // namespace muster::launcher
