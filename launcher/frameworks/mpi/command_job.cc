#include "launcher/frameworks/mpi/command_job.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/process/process_marks.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/called_launcher.h"
#include "launcher/frameworks/mpi/mpi_hosts.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/mpi/remote_shells.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

std::string text_of(const std::vector<mpi::HostSlots>& hosts) {
  std::vector<std::string> words;
  for (const auto& host : hosts) words.push_back(host.host + ":" + std::to_string(host.slots));
  return join(words, ",");
}

// The one that a controller mounts is behind: it lists pods as soon as they run.
std::string with_own_discovery(std::string word, const std::string& own) {
  const size_t at = word.find(kOperatorDiscovery);
  if (at == std::string::npos) return word;
  log::info("mpi.discovery", {{"given", kOperatorDiscovery}, {"used", own}});
  return word.replace(at, kOperatorDiscovery.size(), own);
}

}  // namespace

Result<std::unique_ptr<CommandJob>> CommandJob::create(const MpiJobSetup& setup,
                                                       const std::string& folder,
                                                       const std::string& muster) {
  // An elastic one starts its workers itself, over ssh.
  const auto launchers = setup.context.options.framework.is_elastic()
                             ? std::vector<std::string>{}
                             : hydras_on(setup.doors.files, search_path(setup.context.environment));
  auto files = LauncherFiles::create(folder, muster, launchers);
  if (!files) return std::move(files).error();
  // Of commands that this node runs without being in the round.
  setup.rsh.set_variables(
      {launcher_variable(mpi::kRankNodeVariable, setup.context.node, "the node of a rank")});
  return std::unique_ptr<CommandJob>(new CommandJob(setup, std::move(*files)));
}

bool CommandJob::is_elastic() const { return setup_.context.options.framework.is_elastic(); }

HostChoice CommandJob::choose(const std::vector<rendezvous::RosterEntry>& nodes) const {
  const int here = static_cast<int>(nodes.size());
  const int most = largest_allowed(setup_.job, here).value_or(std::min(here, setup_.job.max_nodes));
  return choose_hosts(hosts_, round_hosts(nodes, listed_()),
                      static_cast<size_t>(most - (setup_.job.rule.has_apart() ? 1 : 0)));
}

Result<JobLauncher> CommandJob::begin(const rendezvous::Assign& assign,
                                      const WorkerCommand& command, CommandSurroundings around,
                                      const std::vector<mpi::HostSlots>& hosts,
                                      ListedHosts listed) {
  end();
  listed_ = std::move(listed);
  hosts_ = hosts;
  if (is_elastic()) {
    const auto nodes = setup_.nodes();
    setup_.rsh.set_nodes(nodes);
    hosts_.clear();
    hosts_ = choose(nodes).hosts;
    ranks_.emplace(setup_.context.node, assign.attempt);
    follows_ = true;
  }
  MUSTER_RETURN_IF_ERROR(files_.write(hosts_));
  const Environment& user = setup_.context.environment;
  EnvironmentPlan variables = launcher_environment(user);
  variables.add(EnvironmentLayer::kMpi, files_.variables(user));
  variables.add(EnvironmentLayer::kAgent,
                launcher_variable(kLauncherIdVariable, setup_.context.token,
                                  "marks everything that this launcher starts here"));
  if (!around.report.empty()) {
    variables.add(EnvironmentLayer::kMpi, launcher_variable(mpi::kRankReportVariable, around.report,
                                                            "whom a rank reports to"));
  }
  variables.add(EnvironmentLayer::kAgent, around.needed_variables);
  variables.add(EnvironmentLayer::kFabric, around.network);
  MUSTER_RETURN_IF_ERROR(add_settings(std::move(around), variables));
  const auto [environment, decisions] = variables.merge(user);
  JobLauncher launcher;
  launcher.name = base_name(command.program);
  launcher.program = command.program;
  // `ssh` and `mpirun` are ours, also when the command is one of them itself.
  const std::string& given = setup_.context.options.program;
  const bool by_name =
      setup_.context.options.entry == EntryKind::kProgram && given.find('/') == std::string::npos;
  if (by_name) {
    auto found = find_program(setup_.doors.files, given, search_path(environment));
    if (found) launcher.program = std::move(*found);
  }
  for (const std::string& word : command.words)
    launcher.arguments.push_back(with_own_discovery(word, files_.discovery()));
  launcher.environment = environment.to_exec_strings();
  log::info("mpi.launch", {{"launcher", launcher.program},
                           {"mpi", is_elastic() ? "elastic" : "command"},
                           {"nodes", hosts_.size()},
                           {"hosts", text_of(hosts_)},
                           {"ranks", "as its command says"},
                           {"kept", join(kept_names(decisions), ",")}});
  return launcher;
}

// An mpirun below the command is told by variables what our own is. None of them hold for an
// elastic one, whose nodes change.
Status CommandJob::add_settings(CommandSurroundings around, EnvironmentPlan& variables) const {
  if (is_elastic()) return {};
  around.facts.hostfile = files_.hostfile();
  auto settings = mpi::command_settings(around.facts, files_.host_list());
  if (!settings) return std::move(settings).error();
  const std::string& rsh = around.facts.rsh_program;
  if (!around.facts.flat)
    tell_shells(mpi::replace_shell_settings(*settings, setup_.context.environment), rsh);
  variables.add(EnvironmentLayer::kMpi, std::move(*settings));
  variables.add(EnvironmentLayer::kMpi, std::move(around.rank_agent));
  if (!around.temp_folder.empty())
    variables.add(EnvironmentLayer::kMpi, temp_folder_variable(around.temp_folder));
  return {};
}

void CommandJob::rank_began(const std::string& node, int world) {
  with_ranks_.insert(node.empty() ? setup_.context.node : node);
  largest_world_ = std::max(largest_world_, world);
}

std::optional<std::string> CommandJob::misplacement() const {
  const IdleHosts idle = idle_hosts(hosts_, with_ranks_);
  if (with_ranks_.empty()) {
    log::warning("mpi.ranks_unwatched",
                 {{"reason",
                   "none has reported: it started none, or by an mpiexec of MPICH "
                   "that it does not call by its bare name"},
                  {"action",
                   "believing the command; --mpi-launch mpirun if it is what each rank runs, and "
                   "`muster rank --` before MPICH's program watches its ranks"}});
    return std::nullopt;
  }
  // With as many ranks as the job has slots every node has some, wherever they begin.
  if (!idle.names.empty() && largest_world_ >= idle.slots) {
    return "it started " + std::to_string(largest_world_) + " ranks, none of them on " +
           idle.names + ": its launcher does not use the job's nodes";
  }
  warn_of_idle(idle, largest_world_);
  return std::nullopt;
}

void CommandJob::end() {
  with_ranks_.clear();
  largest_world_ = 0;
  follows_ = false;
  look_timer_.reset();
  problem_.clear();
}

// ---- the nodes

void CommandJob::follow() {
  if (!follows_ || look_timer_.is_active()) return;
  const TimePoint now = setup_.doors.loop.now();
  look_timer_ = setup_.doors.loop.at(std::max(now, looked_ + kBetweenLooks), [this] { look(); });
}

void CommandJob::look() {
  looked_ = setup_.doors.loop.now();
  const auto nodes = setup_.nodes();
  setup_.rsh.set_nodes(nodes);
  HostChoice choice = choose(nodes);
  if (!choice.changed()) return;
  // The launcher goes on with the list before.
  if (const Status written = files_.write(choice.hosts); !written) {
    if (std::exchange(problem_, written.error().text) != problem_) {
      log::warning("mpi.nodes_failed",
                   {{"error", problem_}, {"action", "the launcher's list stays as it was"}});
    }
    return;
  }
  problem_.clear();
  hosts_ = std::move(choice.hosts);
  log::info("mpi.nodes", {{"hosts", text_of(hosts_)},
                          {"added", join(choice.added, ",")},
                          {"removed", join(choice.removed, ",")},
                          {"spares", static_cast<int64_t>(choice.spares)}});
}

void CommandJob::serve(bool has_leader) {
  if (has_leader || follows_ || !setup_.rsh.busy()) return fence_timer_.reset();
  if (fence_timer_.is_active()) return;
  // Silence was noticed so much later than it began.
  const auto times = rendezvous::lease_times(setup_.job.lease);
  const Duration left = std::max<Duration>(times.fence - times.touch, Duration::zero());
  fence_timer_ = setup_.doors.loop.after(left, [this] {
    log::warning("mpi.fenced", {{"reason", "no leader: the launcher may take this node for lost"},
                                {"action", "what runs here for it is killed"}});
    setup_.rsh.kill_all();
  });
}

// ---- the ranks

void CommandJob::tell(const std::optional<elastic::FailureRecord>& record) const {
  if (!record) return;
  log::warning("mpi.rank_end", {{"rank", record->rank},
                                {"node", record->node},
                                {"pid", record->pid},
                                {"reason", record->reason},
                                {"action", "left to the launcher"}});
}

mpi::RankHooks CommandJob::rank_hooks(std::function<Status(const mpi::rsh::Rank&)> check) {
  Loop& loop = setup_.doors.loop;
  return {.began = [this, &loop, check = std::move(check)](uint64_t line,
                                                           const mpi::rsh::Rank& rank) -> Status {
            if (!follows_) return Error{Code::kPeer, 0, "its launcher has ended"};
            MUSTER_RETURN_IF_ERROR(check(rank));
            ranks_->began(loop.now(), line, rank);
            return {};
          },
          .ended =
              [this, &loop](uint64_t line, const mpi::rsh::RankEnd& end) {
                tell(ranks_->ended(loop.now(), line, end));
                return true;
              },
          .lost = [this, &loop](uint64_t line) { tell(ranks_->lost(loop.now(), line)); }};
}

elastic::FailureRecord CommandJob::explained(const elastic::FailureRecord& launcher) const {
  return ranks_ ? ranks_->explained(launcher) : launcher;
}

}  // namespace muster::launcher
