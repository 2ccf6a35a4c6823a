#include "launcher/options/mpi_flags.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr Choice<std::optional<mpi::Implementation>> kImplementations[] = {
    {"auto", std::nullopt},
    {"openmpi", mpi::Implementation::kOpenMpi},
    {"mpich", mpi::Implementation::kMpich},
    {"intel", mpi::Implementation::kIntelMpi}};

constexpr Choice<MpiLaunch> kLaunches[] = {{"mpirun", MpiLaunch::kMpirun},
                                           {"pmi", MpiLaunch::kPmi},
                                           {"pmix", MpiLaunch::kPmix},
                                           {"command", MpiLaunch::kCommand},
                                           {"elastic", MpiLaunch::kElastic}};

constexpr Choice<MpiRole> kRoles[] = {{"any", MpiRole::kAny},
                                      {"launcher", MpiRole::kLauncher},
                                      {"launcher-worker", MpiRole::kLauncherWorker},
                                      {"worker", MpiRole::kWorker}};

constexpr Choice<MpiTransport> kTransports[] = {{"rsh", MpiTransport::kRsh},
                                                {"ssh", MpiTransport::kSsh},
                                                {"sshd", MpiTransport::kSshd},
                                                {"sshd-unverified", MpiTransport::kSshdUnverified}};

Result<Duration> parse_start_timeout(std::string_view text) {
  auto timeout = parse_pause(text);
  if (timeout && *timeout < kMinMpiStartTimeout)
    return wrong("must be at least " + format_duration(kMinMpiStartTimeout));
  return timeout;
}

constexpr FlagRow kRows[] = {
    {.name = "mpi",
     .origin = Origin::kMuster,
     .fallback = "auto",
     .placeholder = "NAME",
     .into = one_of<&FrameworkOptions::mpi, kImplementations>,
     .help = "with --framework mpi: whose mpirun, openmpi, mpich or intel; auto is the one that is "
             "found"},
    {.name = "mpi-launch",
     .origin = Origin::kMuster,
     .fallback = "mpirun",
     .placeholder = "HOW",
     .into = one_of<&FrameworkOptions::mpi_launch, kLaunches>,
     .help = "with --framework mpi: who starts the ranks: mpirun; the agents, with pmi (MPICH, "
             "Intel MPI) or pmix (Open MPI); or the command, a launcher itself, which is started "
             "anew when nodes change (command) or goes on (elastic)"},
    {.name = "mpi-role",
     .origin = Origin::kMuster,
     .fallback = "any",
     .placeholder = "ROLE",
     .into = one_of<&FrameworkOptions::role, kRoles>,
     .help = "with --framework mpi: launcher (without ranks), launcher-worker, worker "
             "(--rdzv-endpoint says where to find it) or any (alike, the first launches)"},
    {.name = "mpi-transport",
     .origin = Origin::kMuster,
     .fallback = "rsh",
     .placeholder = "HOW",
     .into = one_of<&FrameworkOptions::mpi_transport, kTransports>,
     .help =
         "mpirun's way to other nodes: rsh (our agents), ssh (OpenSSH, run by our agents), sshd "
         "(the nodes run it and no agent) or sshd-unverified (and nobody knows their host keys)"},
    {.name = "mpi-ssh-keys",
     .origin = Origin::kMuster,
     .placeholder = "PATH",
     .into = to<&FrameworkOptions::mpi_ssh_keys, as_text>,
     .help = "for ssh and sshd: a mounted folder with keys, or a private key; else each node makes "
             "its own (ssh), or the controller's mounted one counts (sshd)"},
    {.name = "mpi-ssh-port",
     .origin = Origin::kMuster,
     .fallback = "0",
     .placeholder = "N",
     .into = to<&FrameworkOptions::mpi_ssh_port, parse_port>,
     .help = "with ssh the port of this node's SSH server, 0 is any; with sshd that of the nodes' "
             "servers, 0 is 22"},
    {.name = "mpi-start-timeout",
     .origin = Origin::kMuster,
     .fallback = "5m",
     .placeholder = "TIME",
     .into = to<&FrameworkOptions::mpi_start_timeout, parse_start_timeout>,
     .help = "the job has failed when after so long not all ranks of an mpirun have begun, or a "
             "node's PMIx server is not ready (pmix); at least 1s"},
};

void check_launch(FlagReader& flags, const FrameworkOptions& chosen) {
  using mpi::Implementation;
  if (chosen.uses_pmi() && chosen.mpi == Implementation::kOpenMpi)
    flags.fail(flag::kMpiLaunch,
               flags.label(flag::kMpi) + " openmpi speaks PMIx, not PMI 1: say pmix");
  if (chosen.uses_pmix() && chosen.mpi && chosen.mpi != Implementation::kOpenMpi) {
    flags.fail(flag::kMpiLaunch, "that is for Open MPI; with " + flags.label(flag::kMpi) + " " +
                                     flags.text(flag::kMpi) + " say pmi");
  }
}

void check_transport(FlagReader& flags, const FrameworkOptions& chosen) {
  if (chosen.mpi_transport == MpiTransport::kRsh) return;
  if (chosen.starts_ranks()) {
    flags.fail(flag::kMpiTransport, "with " + flags.label(flag::kMpiLaunch) + " " +
                                        flags.text(flag::kMpiLaunch) +
                                        " the agents start the ranks: only mpirun starts anything "
                                        "on other nodes");
  }
  if (chosen.runs_command()) {
    flags.fail(flag::kMpiTransport,
               "a launcher of your own finds `muster rsh` under the name ssh: only mpirun has "
               "another way to other nodes");
  }
  if (chosen.uses_sshd() && chosen.role == MpiRole::kWorker) {
    flags.fail(flag::kMpiTransport, "then workers run sshd and not Muster: " +
                                        flags.label(flag::kMpiRole) + " worker cannot be");
  }
}

void warn_of_idle(FlagReader& flags, const FrameworkOptions& chosen) {
  const auto warn = [&flags](Flag flag, const std::string& lacks) {
    if (flags.on_command_line(flag))
      flags.warn(flags.label(flag) + " has no effect without " + lacks);
  };
  if (!chosen.uses_ssh() && !chosen.uses_sshd()) {
    for (const Flag flag : {flag::kMpiSshKeys, flag::kMpiSshPort})
      warn(flag, "--mpi-transport ssh or sshd");
  }
  if (!chosen.is_mpi()) {
    for (const Flag flag : {flag::kMpi, flag::kMpiLaunch, flag::kMpiRole, flag::kMpiTransport,
                            flag::kMpiStartTimeout})
      warn(flag, "--framework mpi");
  } else if (!chosen.uses_mpirun()) {
    if (chosen.uses_pmi() || chosen.is_elastic())
      warn(flag::kMpiStartTimeout, "--mpi-launch mpirun, command or pmix");
    if (chosen.runs_command()) warn(flag::kMpi, "--mpi-launch mpirun");
  }
}

void check_mpi(FlagReader& flags, Options& options) {
  FrameworkOptions& chosen = options.framework;
  chosen.mpi_launch_given = flags.is_given(flag::kMpiLaunch);
  if (const auto implied = implied_launch(options.program, options.arguments);
      implied && chosen.is_mpi() && !chosen.mpi_launch_given) {
    chosen.mpi_launch = *implied;
    flags.derive(flag::kMpiLaunch, chosen.is_elastic() ? "elastic" : "command", options.program);
  }
  check_launch(flags, chosen);
  check_transport(flags, chosen);
  warn_of_idle(flags, chosen);
  // With sshd there is no other agent, whoever has ranks.
  if (!chosen.is_mpi() || chosen.uses_sshd()) chosen.role = MpiRole::kAny;
}

}  // namespace

constexpr FlagGroup kMpiFlags{"MPI", kRows, check_mpi};

void check_sshd(FlagReader& flags, const WorkerCount& workers) {
  const std::string with =
      "with " + flags.label(flag::kMpiTransport) + " " + flags.text(flag::kMpiTransport) + " ";
  const GivenValue* const nodes = flags.find(flag::kNnodes);
  if (nodes != nullptr && nodes->kind != SourceKind::kContract) {
    flags.fail(flag::kNnodes,
               with + "the nodes are all those of the controller's list: leave it out");
  }
  if (workers.kind != WorkerCountKind::kNumber) {
    flags.fail(flag::kNprocPerNode,
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
