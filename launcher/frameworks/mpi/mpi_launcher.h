// The launcher of an MPI job: which mpirun there is, and with what words and environment it starts
// the ranks on the nodes of a round. Pure apart from looking at files. Who watches it: mpi_job.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/interfaces.h"
#include "base/result.h"
#include "launcher/frameworks/mpi/rank_words.h"
#include "launcher/workers/worker_command.h"
#include "launcher/workers/worker_plan.h"
#include "mpi/launch/hostfile.h"
#include "mpi/launch/implementation.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/launch/remote_shell.h"

namespace muster::launcher {

/// Looks on `search_path` for a launcher of one of `wanted`, or of any if that is empty. The first
/// folder that has one decides, and in one folder their order, by default kAllImplementations.
/// Names that may mean any implementation are told apart by their target and by the daemon that
/// lies beside it, so nothing is run. kExec, ENOENT: none, naming what was looked for.
Result<FoundLauncher> find_launcher(const Files& files, std::string_view search_path,
                                    const std::vector<mpi::Implementation>& wanted);

/// What the program at `path` is; none = no MPI launcher, or one that cannot be told.
[[nodiscard]] std::optional<mpi::Launcher> identify_launcher(const Files& files,
                                                             const std::string& path);
/// What every launcher starts with: nothing of an outer launch's ranks and of the job's secret.
[[nodiscard]] EnvironmentPlan launcher_environment(const Environment& agent);
/// One that the user's own setting does not stop.
[[nodiscard]] PlannedVariable launcher_variable(std::string_view name, std::string value,
                                                std::string reason);
/// TMPDIR of a launcher that shares its machine with other nodes of the job.
[[nodiscard]] PlannedVariable temp_folder_variable(const std::string& folder);
/// mpirun, mpiexec and their relatives, by name: then the user calls the launcher himself.
[[nodiscard]] bool is_launcher_name(std::string_view program);

/// Intel MPI's mpirun is a script that keeps signals to itself and takes mpiexec.hydra from PATH:
/// the one beside it stands for it. Others stay as they are.
[[nodiscard]] FoundLauncher without_script(const Files& files, FoundLauncher launcher);

/// The interface by which `host`, an address of this machine, is reached. Both "" = unknown.
struct Route {
  std::string interface;
  std::string network;   ///< "10.0.0.0/24"; "" for IPv6
  bool has_ipv4 = true;  ///< the interface has an IPv4 address as well
};
[[nodiscard]] Route route_of(const std::vector<InterfaceAddress>& addresses,
                             const std::string& host);
/// Among the interfaces that this machine has now; unknown, too, where the kernel lists none.
[[nodiscard]] Route own_route(const std::string& host);

/// All that the process has written so far, wherever to. None: it is gone, or the kernel does not
/// say.
[[nodiscard]] std::optional<uint64_t> bytes_written(const Files& files, pid_t pid);

struct MpiLaunchPlan {
  mpi::LaunchFacts facts;
  std::string path;        ///< of the launcher
  bool watched = true;     ///< ranks have a `muster rank` above them; else the nodes have none, and
                           ///< the launcher has a `muster tend`
  bool users_own = false;  ///< `command` is the launcher with its arguments
  RankWatch watch = {};    ///< where nodes have an agent
  WorkerCommand command;   ///< of the user
  std::string muster;      ///< path of this binary, the same on every node
  int world_size = 1;
  std::string report;                                  ///< value of kRankReportVariable
  std::string agent_token;                             ///< marks everything this agent starts
  std::string temp_folder;                             ///< TMPDIR of the launcher; "" = as it is
  std::vector<PlannedVariable> needed_variables = {};  ///< by what it calls as a remote shell
  std::vector<PlannedVariable> network = {};  ///< network_of_launcher() (rank_environment.h)
};

struct PlannedLaunch {
  JobLauncher launcher;
  std::vector<VariableDecision> decisions;     ///< about its variables
  std::vector<mpi::ShellSetting> shells = {};  ///< of the user, in variables and words
};

/// The words that a rank's follow, of this binary at `muster`.
[[nodiscard]] std::string rank_agent(const std::string& muster);

/// The launcher with `-np WORLD COMMAND`, or the user's own words; in both cases
/// with the settings of mpi/launch/launch_settings.h and `muster rank` before each rank, without
/// ranks of an outer launch and without the job's secret. kConfig as launch_settings().
Result<PlannedLaunch> plan_mpi_launch(const MpiLaunchPlan& plan, const Environment& user);

}  // namespace muster::launcher
