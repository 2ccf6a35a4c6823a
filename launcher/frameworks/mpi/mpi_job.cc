#include "launcher/frameworks/mpi/mpi_job.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/process/own_binary.h"
#include "base/process/own_host_name.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/called_launcher.h"
#include "launcher/frameworks/mpi/launcher_choice.h"
#include "launcher/frameworks/mpi/launcher_input.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "launcher/frameworks/mpi/rank_words.h"
#include "launcher/frameworks/mpi/remote_shells.h"
#include "mpi/launch/hostfile.h"
#include "mpi/launch/rank_agent.h"

namespace muster::launcher {

namespace {

void warn_of_unwatched(std::string_view reason, const std::string& launcher) {
  log::warning("mpi.ranks_unwatched",
               {{"reason", reason},
                {"action", "watching its connections and believing " + launcher +
                               ", which may hang, also beyond --mpi-start-timeout"}});
}

}  // namespace

Result<std::unique_ptr<MpiJob>> MpiJob::create(MpiJobSetup setup) {
  std::unique_ptr<MpiJob> job(new MpiJob(std::move(setup)));
  const AgentContext& context = job->setup_.context;
  const std::string& own_host = job->setup_.own_host;
  if (job->setup_.tls == nullptr && !Address{own_host, 0}.is_loopback()) {
    return Error{Code::kConfig, 0,
                 "--framework mpi on several machines needs a job secret, because agents run "
                 "commands for each other: mount one and set MUSTER_JOB_SECRET_FILE to its path on "
                 "every node"};
  }
  MUSTER_RETURN_IF_ERROR(job->prepare_folder());
  MUSTER_RETURN_IF_ERROR(job->prepare_command());
  // Its nodes are all in the round; those of a command that starts ranks by itself may not be.
  const bool all_in_round = !job->command_job_ && !context.options.framework.is_elastic();
  if (all_in_round) job->setup_.rsh.hold_early_calls();
  job->follow_hosts();
  MUSTER_RETURN_IF_ERROR(job->prepare_transport());
  const auto when_idle = [job = job.get()] {
    if (!job->busy()) job->setup_.idle();
  };
  job->setup_.rsh.on_idle(when_idle);
  job->transport_->on_idle(when_idle);
  // Where it is not permitted, all but Open MPI 5 go on without. Horovod 0.28 crashes where the own
  // name cannot be resolved.
  if (job->shares_machine() && job->kind_ != CommandKind::kOpaque)
    job->has_own_name_ = take_host_name(context.node).has_value();
  return job;
}

Status MpiJob::prepare_command() {
  const AgentContext& context = setup_.context;
  const FrameworkOptions& framework = context.options.framework;
  const bool is_launcher =
      context.options.entry == EntryKind::kProgram && is_launcher_name(context.options.program);
  if (framework.is_elastic() && is_launcher) {
    return Error{Code::kConfig, 0,
                 "--mpi-launch elastic: " + context.options.program + " takes in no nodes"};
  }
  auto command = plan_worker_command(context.options, context.environment, setup_.doors.files);
  if (!command) return std::move(command).error();
  command_ = std::move(*command);
  // An mpirun's ranks may run on other nodes alone.
  if (!framework.uses_mpirun())
    MUSTER_RETURN_IF_ERROR(check_script(context.options, setup_.doors.files));
  has_rank_agent_ = !framework.uses_sshd() && !framework.is_elastic();
  if (is_launcher) {
    kind_ = CommandKind::kLauncher;
    const auto options =
        launcher_options(setup_.doors.files, command_.words, search_path(context.environment));
    if (!mpi::word_without_agent(options, command_.words).empty()) has_rank_agent_ = false;
    return {};
  }
  const auto called = framework.is_elastic() ? std::optional<std::string>()
                                             : find_called_launcher(setup_.doors.files, command_);
  const bool recognised = called && framework.uses_mpirun() && !framework.mpi_launch_given;
  if (!framework.runs_command() && !recognised) return {};
  kind_ = called ? CommandKind::kScript : CommandKind::kOpaque;
  if (recognised) {
    log::info("mpi.command", {{"command", context.options.program},
                              {"calls", *called},
                              {"action", "running it once, as with --mpi-launch command"}});
  }
  auto made = CommandJob::create(setup_, folder_->path(), muster_);
  if (!made) return std::move(made).error();
  command_job_ = std::move(*made);
  return {};
}

void MpiJob::follow(bool has_leader) {
  if (!setup_.context.options.framework.is_elastic()) return;
  command_job_->follow();
  command_job_->serve(has_leader);
}

// A list that changes is followed as far as --nnodes lets it.
void MpiJob::follow_hosts() {
  const Contract* const contract = setup_.context.contract;
  if (contract == nullptr || contract->hosts.empty()) return;
  const auto changed = [this](int hosts) {
    if (!transport_->has_agents()) return;  // the next attempt takes it
    warn_of_fixed_nodes(setup_.context.options, hosts);
    setup_.hosts_changed(hosts);
    if (command_job_) command_job_->follow();  // their slots may be others
  };
  list_ = std::make_unique<MpiHostList>(setup_.doors.loop, setup_.doors.files, *contract, changed);
}

MpiJob::MpiJob(MpiJobSetup setup) : setup_(std::move(setup)) {}

Status MpiJob::prepare_folder() {
  auto folder = TemporaryFolder::create(setup_.context.folder);
  if (!folder) return std::move(folder).error();
  folder_ = std::move(*folder);
  auto binary = own_binary(setup_.doors.files);
  if (!binary) return std::move(binary).error();
  muster_ = std::move(*binary);
  // Launchers split the words that they put before each rank.
  if (muster_.find_first_of(" :;") == std::string::npos) return {};
  auto link = folder_->link("muster", muster_);
  if (!link) return std::move(link).error();
  muster_ = std::move(*link);
  return {};
}

// The link beside the binary is in every pod under the same path, which large jobs need: their
// daemons start further daemons. A link of our own serves the launcher's node.
Status MpiJob::prepare_transport() {
  auto transport =
      make_launch_transport({.job = setup_,
                             .folder = folder_->path() + "/transport",
                             .muster = muster_,
                             .listed = list_.get(),
                             .killed = [this](const std::string& what, pid_t pid, int signal) {
                               helper_killed(what, pid, signal);
                             }});
  if (!transport) return std::move(transport).error();
  transport_ = std::move(*transport);
  auto link = find_or_make_link(setup_.doors.files, muster_, std::string(transport_->link_name()),
                                *folder_);
  if (!link) return std::move(link).error();
  rsh_link_ = *std::move(link);
  return {};
}

void MpiJob::prepare_round(const rendezvous::Assign& assign, const std::function<void()>& ready) {
  transport_->prepare_round(assign, [this, ready](Status status) {
    transport_ready_ = std::move(status);
    ready();
  });
}

void MpiJob::process_exited(const Reaped& reaped) { transport_->process_exited(reaped); }

bool MpiJob::busy() const { return setup_.rsh.busy() || transport_->busy(); }

Result<std::optional<JobLauncher>> MpiJob::begin_round(const rendezvous::Assign& assign) {
  clear_round();
  if (!transport_ready_) return Error(transport_ready_.error());
  assign_ = assign;
  begun_ = setup_.doors.loop.now();
  step(mpi::MpiRoundEvent::kBegin);
  setup_.rsh.set_variables(variables().of_daemons());
  setup_.rsh.watch({}, [this](const mpi::RshCommandEnd& end) { command_ended(end); });
  if (assign.node_rank != 0) return std::optional<JobLauncher>();
  if (setup_.context.options.framework.role == MpiRole::kWorker) {
    return Error{Code::kConfig, 0,
                 "every node of this job is a --mpi-role worker: none is there to start mpirun"};
  }
  MUSTER_RETURN_IF_ERROR(choose_hosts());
  std::string temp_folder;
  if (shares_machine()) {
    temp_folder = folder_->path() + "/launcher";
    MUSTER_RETURN_IF_ERROR(setup_.doors.files.make_directories(temp_folder));
  }
  return command_job_ ? begin_command(temp_folder) : begin_launcher(temp_folder);
}

RoundVariables MpiJob::variables() const {
  return {.setup = setup_,
          .transport = *transport_,
          .kind = kind_,
          .round = assign_,
          .rank_agent = has_rank_agent_ ? rank_agent(muster_) : "",
          .shared_folder = shares_machine() ? folder_->path() : ""};
}

// Nodes of one job on one machine are reached on loopback.
bool MpiJob::shares_machine() const {
  return transport_->has_agents() && Address{setup_.own_host, 0}.is_loopback();
}

Status MpiJob::choose_hosts() {
  const bool has_agents = transport_->has_agents();
  hosts_ = has_agents ? round_hosts(assign_.roster, listed()) : list_->hosts();
  if (!has_agents && listed().empty()) {
    for (auto& host : hosts_) host.slots = setup_.context.options.workers_per_node.number;
  }
  if (setup_.context.options.framework.is_elastic()) return {};
  if (has_agents) MUSTER_RETURN_IF_ERROR(check_listed(assign_.roster, listed()));
  auto hosts = with_ranks(std::move(hosts_));
  if (!hosts) return std::move(hosts).error();
  hosts_ = std::move(*hosts);
  return {};
}

Result<std::optional<JobLauncher>> MpiJob::begin_launcher(const std::string& temp_folder) {
  auto found = choose_launcher();
  if (!found) return std::move(found).error();
  const bool needs_name = found->kind.implementation == mpi::Implementation::kOpenMpi &&
                          found->kind.major >= mpi::kFirstOpenMpiOfHostNames;
  if (shares_machine() && !has_own_name_ && needs_name) {
    return Error{
        Code::kConfig, 0,
        "Open MPI " + std::to_string(found->kind.major) +
            " takes nodes with one host name for one node: several of them on this machine "
            "need root, who can give each a name of its own"};
  }
  auto hosts = write_hosts(found->kind.implementation);
  if (!hosts) return std::move(hosts).error();
  mpi::LaunchFacts facts = launch_facts();
  facts.launcher = found->kind;
  facts.hostfile = std::move(*hosts);
  const RankWatch watch = find_watch(*found);
  int ranks = 0;
  for (const auto& host : hosts_) ranks += host.slots;
  auto launch = plan_mpi_launch({.facts = std::move(facts),
                                 .path = found->path,
                                 .watched = transport_->has_agents(),
                                 .users_own = kind_ == CommandKind::kLauncher,
                                 .watch = watch,
                                 .command = command_,
                                 .muster = muster_,
                                 .world_size = ranks,
                                 .report = variables().report(),
                                 .agent_token = setup_.context.token,
                                 .temp_folder = temp_folder,
                                 .needed_variables = variables().of_launcher(),
                                 .network = network_of_launcher(variables().of_network())},
                                setup_.context.environment);
  if (!launch) return std::move(launch).error();
  const bool own_words = kind_ != CommandKind::kLauncher;
  if (transport_->has_agents() && (own_words || watch.sees_ranks())) {
    auto input = open_launcher_input(found->kind.implementation);
    if (!input) return std::move(input).error();
    if (input->is_open())
      launch->launcher.input = std::make_shared<const UniqueFd>(std::move(*input));
  }
  const bool may_start_several = !own_words && is_script(setup_.doors.files, found->path);
  tell_shells(launch->shells, rsh_link_.path);
  if (starts_unbound(*transport_, kind_)) tell_threads(hosts_, setup_.context.environment);
  log::info("mpi.launch", {{"launcher", found->path},
                           {"mpi", mpi::to_string(found->kind.implementation)},
                           {"nodes", static_cast<int64_t>(hosts_.size())},
                           {"ranks", own_words ? std::to_string(ranks) : "as its command says"},
                           {"kept", join(kept_names(launch->decisions), ",")}});
  listen({.launcher = launch->launcher.name,
          .mpi = found->kind.implementation,
          .all_report = !own_words && watch.sees_ranks() && !may_start_several,
          .by_command = may_start_several});
  return std::optional<JobLauncher>(std::move(launch->launcher));
}

std::vector<mpi::HostSlots> MpiJob::listed() const {
  return list_ ? list_->with_slots() : std::vector<mpi::HostSlots>{};
}

Result<std::optional<JobLauncher>> MpiJob::begin_command(const std::string& temp_folder) {
  auto launcher =
      command_job_->begin(assign_, command_,
                          {.report = transport_->has_agents() ? variables().report() : "",
                           .facts = launch_facts(),
                           .rank_agent = variables().of_rank_agent(),
                           .temp_folder = temp_folder,
                           .needed_variables = variables().of_launcher(),
                           .network = network_of_launcher(variables().of_network())},
                          hosts_, [this] { return listed(); });
  if (!launcher) return std::move(launcher).error();
  if (!transport_->has_agents()) warn_of_unwatched(transport_->no_agents(), launcher->name);
  if (!setup_.context.options.framework.is_elastic()) {
    listen({.launcher = launcher->name,
            .mpi = setup_.context.options.framework.mpi,
            .by_command = true});
  } else {
    setup_.rsh.watch(
        command_job_->rank_hooks([this](const mpi::rsh::Rank& rank) { return check(rank); }), {});
  }
  return std::optional<JobLauncher>(std::move(*launcher));
}

Result<FoundLauncher> MpiJob::choose_launcher() const {
  const Environment& environment = setup_.context.environment;
  const auto wanted = setup_.context.options.framework.mpi;
  if (kind_ != CommandKind::kLauncher)
    return launcher::choose_launcher(setup_.doors.files, search_path(environment), wanted,
                                     command_.program);
  auto kind = identify_launcher(setup_.doors.files, command_.program);
  if (!kind && wanted) kind = mpi::Launcher{.implementation = *wanted};
  if (kind) return without_script(setup_.doors.files, {command_.program, *kind});
  return Error{Code::kConfig, 0,
               "'" + command_.program + "' may be of any MPI: say which with --mpi"};
}

RankWatch MpiJob::find_watch(const FoundLauncher& launcher) const {
  if (!transport_->has_agents()) {
    warn_of_unwatched(transport_->no_agents(), launcher.path);
    return {};
  }
  if (kind_ != CommandKind::kLauncher) return own_rank_watch(launcher.kind.implementation);
  RankWatch watch = find_rank_watch(setup_.doors.files, launcher, command_,
                                    search_path(setup_.context.environment));
  if (!watch.sees_ranks()) {
    log::warning("mpi.ranks_unwatched",
                 {{"reason", watch.problem},
                  {"action", "believing " + launcher.path +
                                 ", without --mpi-start-timeout; `muster rank --` before the "
                                 "program watches its ranks"}});
  }
  return watch;
}

Result<std::string> MpiJob::write_hosts(mpi::Implementation implementation) {
  auto text = mpi::write_hostfile(implementation, hosts_);
  if (!text)
    return Error{text.error().code, 0,
                 "hostfile of the round: " + text.error().text + "; --node-name names a node"};
  std::string path = folder_->path() + "/hosts." + std::to_string(assign_.round);
  MUSTER_RETURN_IF_ERROR(setup_.doors.files.write(path, *text));
  return path;
}

mpi::LaunchFacts MpiJob::launch_facts() const {
  const Route route = own_route(transport_->own_host(assign_));
  mpi::LaunchFacts facts;
  facts.rsh_program = rsh_link_.path;
  facts.rsh_words = rsh_link_.words;
  facts.hosts = static_cast<int>(hosts_.size());
  facts.slots = slots_of_each(hosts_);
  facts.has_dotted_names = has_dotted_names(hosts_);
  facts.wants_stdin = !is_dev_null(STDIN_FILENO);
  facts.interface = route.interface;
  facts.network = route.network;
  facts.has_ipv4 = route.has_ipv4;
  facts.has_rdma = setup_.doors.files.exists("/sys/class/infiniband");
  facts.flat = !transport_->has_agents();
  facts.is_root = geteuid() == 0;
  facts.start_deadline = setup_.context.options.framework.mpi_start_timeout;
  return facts;
}

// ---- the life of a round

// What the table says is to be done; the state has changed already.
mpi::MpiRoundAction MpiJob::step(mpi::MpiRoundEvent event) {
  const mpi::MpiRoundTransition& row = mpi::transition(state_, event);
  MUSTER_CHECK(row.action != mpi::MpiRoundAction::kBug);
  state_ = row.next;
  return row.action;
}

void MpiJob::clear_round() {
  round_over();
  if (command_job_) command_job_->end();
  world_.reset();
  watchdog_.reset();
  daemon_timer_.reset();
  end_timer_.reset();
  host_timer_.reset();
}

}  // namespace muster::launcher
