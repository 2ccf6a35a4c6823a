// CommandJob: the part of an MpiJob (mpi_job.h) that knows how to start the user's own launcher,
// and, where that outlives changes of the nodes (--mpi-launch elastic), keeps its list of nodes
// true. MpiJob owns it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "launcher/frameworks/mpi/host_choice.h"
#include "launcher/frameworks/mpi/launcher_files.h"
#include "launcher/frameworks/mpi/mpi_job_setup.h"
#include "launcher/workers/worker_command.h"
#include "launcher/workers/worker_plan.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/ranks/elastic_ranks.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

/// Between two looks at the nodes; the launcher looks at the list once a second or so.
inline constexpr Duration kBetweenLooks = std::chrono::milliseconds(100);
/// Where mpi-operator mounts its own discovery script, which knows of pods and not of agents.
inline constexpr std::string_view kOperatorDiscovery = "/etc/mpi/discover_hosts.sh";

/// What the words after `--` are to an MPI job. The latter two run once, as a CommandJob.
enum class CommandKind {
  kProgram,   ///< what each rank runs; its launcher is called for it
  kLauncher,  ///< a launcher, with the user's own words
  kScript,    ///< a script or the like, in which a launcher is seen to be called
  kOpaque,    ///< it starts ranks in a way that is not seen
};

/// What the launcher of a round is told besides the nodes.
struct CommandSurroundings {
  std::string report;                             ///< for `muster rank`; "" = none is there
  mpi::LaunchFacts facts;                         ///< without hostfile and launcher
  std::vector<PlannedVariable> rank_agent;        ///< that puts `muster rank` before each rank
  std::string temp_folder;                        ///< TMPDIR; "" = as it is
  std::vector<PlannedVariable> needed_variables;  ///< by what it calls as a remote shell
  std::vector<PlannedVariable> network;           ///< network_of_launcher() (rank_environment.h)
};

class CommandJob {
 public:
  using ListedHosts = std::function<std::vector<mpi::HostSlots>()>;
  /// `setup` is borrowed; `folder` exists; `muster` is the path of this binary. kOs.
  static Result<std::unique_ptr<CommandJob>> create(const MpiJobSetup& setup,
                                                    const std::string& folder,
                                                    const std::string& muster);
  CommandJob(const CommandJob&) = delete;
  CommandJob& operator=(const CommandJob&) = delete;

  /// The launcher of a round. `hosts`: those of the round, when they stay the same in it.
  /// `listed`: slots that a controller says at present. kConfig, kOs: the list cannot be written,
  /// or its path is nothing for MPI launchers.
  Result<JobLauncher> begin(const rendezvous::Assign& assign, const WorkerCommand& command,
                            CommandSurroundings around, const std::vector<mpi::HostSlots>& hosts,
                            ListedHosts listed);
  /// The launcher has ended.
  void end();
  /// A rank has begun that reports; "" = on the launcher's node.
  void rank_began(const std::string& node, int world);
  /// The command succeeded: what speaks against where its ranks were. Nodes that it left out by
  /// wanting fewer ranks than the job has slots are told to the log.
  [[nodiscard]] std::optional<std::string> misplacement() const;
  /// An elastic one that was begun.
  [[nodiscard]] bool runs() const { return follows_; }

  // The rest is for elastic launchers.
  /// Nodes may have come or gone, or have other slots; looks now or a little later. Nothing between
  /// rounds.
  void follow();
  /// On a node that serves: whether it has a leader. Without one what runs here for another node's
  /// launcher is killed before that can be told elsewhere that this node is lost.
  void serve(bool has_leader);
  [[nodiscard]] mpi::RankHooks rank_hooks(std::function<Status(const mpi::rsh::Rank&)> check);
  /// The launcher's failure, with what its ranks told.
  [[nodiscard]] elastic::FailureRecord explained(const elastic::FailureRecord& launcher) const;

 private:
  CommandJob(const MpiJobSetup& setup, LauncherFiles files)
      : setup_(setup), files_(std::move(files)) {}
  [[nodiscard]] bool is_elastic() const;
  Status add_settings(CommandSurroundings around, EnvironmentPlan& variables) const;
  [[nodiscard]] HostChoice choose(const std::vector<rendezvous::RosterEntry>& nodes) const;
  void look();
  void tell(const std::optional<elastic::FailureRecord>& record) const;

  const MpiJobSetup& setup_;
  LauncherFiles files_;
  bool follows_ = false;  // a launcher runs here
  std::vector<mpi::HostSlots> hosts_;
  ListedHosts listed_;
  std::set<std::string> with_ranks_;  // nodes
  int largest_world_ = 0;             // of the command's launchers
  std::optional<mpi::ElasticRanks> ranks_;
  std::string problem_;  // the last one, told already
  TimePoint looked_;
  Timer look_timer_;
  Timer fence_timer_;
};

}  // namespace muster::launcher
