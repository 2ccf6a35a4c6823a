// MpiJob: an agent's part in an MPI job. On the node of rank 0 it prepares each round's launcher
// (mpi_launcher.h) and listens to the ranks (mpi_ranks.h); on all it watches the daemons, which the
// launcher started there. LauncherDriver owns it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/process/own_binary.h"
#include "base/process/temporary_folder.h"
#include "launcher/frameworks/mpi/command_job.h"
#include "launcher/frameworks/mpi/launch_transport.h"
#include "launcher/frameworks/mpi/mpi_hosts.h"
#include "launcher/frameworks/mpi/mpi_job_setup.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/mpi/round_variables.h"
#include "mpi/ranks/mpi_round_table.h"
#include "mpi/ranks/mpi_world.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::launcher {

class MpiJob {
 public:
  /// kConfig: commands of other machines are refused without a job secret, so no rank could start
  /// there. kExec: the user's program is not there. kOs: no temporary folder.
  static Result<std::unique_ptr<MpiJob>> create(MpiJobSetup setup);
  MpiJob(const MpiJob&) = delete;
  MpiJob& operator=(const MpiJob&) = delete;

  /// The round comes, before any node starts anything of it. `ready` comes at once, or from the
  /// loop, unless the round ends before (LaunchTransport::prepare_round).
  void prepare_round(const rendezvous::Assign& assign, const std::function<void()>& ready);
  /// After every turn of the member: this node has a leader, or has none.
  void follow(bool has_leader);
  /// card() is not known yet; DriverHost::prepared comes when it is. Until then this node must not
  /// join others.
  [[nodiscard]] bool is_preparing() const { return transport_->is_preparing(); }
  /// What the other nodes must know to call this one; "" = nothing.
  [[nodiscard]] std::string card() const { return transport_->card(); }
  /// A child of this process was reaped, perhaps one of ours.
  void process_exited(const Reaped& reaped);
  /// Something is served here for other nodes.
  [[nodiscard]] bool busy() const;
  /// What starts the ranks of this round, on the node of rank 0; nothing on the others. kExec: no
  /// launcher. kConfig, kOs: its settings or the hostfile cannot be made.
  Result<std::optional<JobLauncher>> begin_round(const rendezvous::Assign& assign);
  /// A signal to the ranks on this node. False: no rank is left, here or of the launcher here.
  bool tell_ranks(int signal);
  /// Some rank runs: here, or, on the launcher's node, anywhere.
  [[nodiscard]] bool has_ranks() const;
  /// The launcher failed by itself. True: it is told to `failed` a little later, if nothing
  /// explains it by then.
  bool hold(const elastic::FailureRecord& record);
  /// The group of this node ended; `well` = its launcher exited with 0. `settled` comes once, when
  /// what was held is told: at once if nothing is held, else from the loop, unless the round is
  /// over before.
  void group_ended(bool well, std::function<void()> settled);
  /// The round is over: nothing is held any more.
  void round_over();
  /// After `settled`. True: the job succeeded. A launcher that lied with 0 is told to `failed`.
  bool launcher_succeeded(bool well);

 private:
  explicit MpiJob(MpiJobSetup setup);
  Status prepare_folder();
  void follow_hosts();
  Status prepare_transport();
  void helper_killed(const std::string& what, pid_t pid, int signal);
  Status prepare_command();
  [[nodiscard]] bool shares_machine() const;
  [[nodiscard]] RoundVariables variables() const;
  [[nodiscard]] std::vector<mpi::HostSlots> listed() const;
  Status choose_hosts();
  Result<std::optional<JobLauncher>> begin_launcher(const std::string& temp_folder);
  Result<std::optional<JobLauncher>> begin_command(const std::string& temp_folder);
  Result<FoundLauncher> choose_launcher() const;
  Result<std::string> write_hosts(mpi::Implementation implementation);
  [[nodiscard]] mpi::LaunchFacts launch_facts() const;
  void listen(mpi::MpiExpectation expected);
  [[nodiscard]] RankWatch find_watch(const FoundLauncher& launcher) const;
  [[nodiscard]] Status check(const mpi::rsh::Rank& rank) const;
  Status rank_began(uint64_t line, const mpi::rsh::Rank& rank);
  void command_ended(const mpi::RshCommandEnd& end);
  void host_refused(const std::string& reason);
  [[nodiscard]] std::vector<Descendant> ranks_here() const;
  void ranks_may_be_gone();
  [[nodiscard]] std::optional<elastic::FailureRecord> explanation() const;
  void tell_held();
  void settle();
  mpi::MpiRoundAction step(mpi::MpiRoundEvent event);
  void clear_round();
  void fail(elastic::FailureRecord record);
  void arm();
  void look_soon();
  void look();
  [[nodiscard]] uint64_t written_by_launcher() const;
  [[nodiscard]] bool watches_ranks() const;
  [[nodiscard]] bool is_undecided() const;

  MpiJobSetup setup_;
  WorkerCommand command_;
  CommandKind kind_ = CommandKind::kProgram;
  std::function<void()> settled_;  // from the group's end on, until it comes
  bool has_own_name_ = false;      // own_host_name.h
  std::optional<TemporaryFolder> folder_;
  std::string muster_;                       // path of this binary, in words of launchers
  bool has_rank_agent_ = false;              // ranks are watched, where a variable can say so
  OwnLink rsh_link_;                         // that launchers call
  std::unique_ptr<CommandJob> command_job_;  // of a command that runs once; else null
  std::unique_ptr<MpiHostList> list_;        // the controller's; null = none
  std::vector<mpi::HostSlots> hosts_;        // of the round, with ranks
  std::unique_ptr<LaunchTransport> transport_;
  Status transport_ready_;  // for the round that comes
  rendezvous::Assign assign_;
  TimePoint begun_;  // its round
  mpi::MpiRoundState state_ = mpi::MpiRoundState::kIdle;
  std::optional<mpi::MpiWorld> world_;          // on the node of rank 0
  std::optional<elastic::FailureRecord> held_;  // of the launcher
  Timer watchdog_;                              // until the next deadline of the ranks
  Timer daemon_timer_;                          // until the end of a daemon is told
  Timer end_timer_;   // until the launcher is told to end, after a failure
  Timer held_timer_;  // until the launcher's own failure is told
  Timer host_timer_;  // until a host that its launcher does not find is told
};

}  // namespace muster::launcher
