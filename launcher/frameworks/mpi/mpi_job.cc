#include "launcher/frameworks/mpi/mpi_job.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>
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
#include "launcher/frameworks/mpi/remote_shells.h"
#include "mpi/launch/hostfile.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

std::vector<PlannedVariable> joined(std::vector<PlannedVariable> first,
                                    std::vector<PlannedVariable> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

// Below `muster rank`, by words of ours, which bind none (launch_settings.h).
bool starts_unbound(const LaunchTransport& transport, CommandKind kind) {
  return transport.has_agents() && kind == CommandKind::kProgram;
}

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
  job->shares_machine_ = job->transport_->has_agents() && Address{own_host, 0}.is_loopback();
  // Where it is not permitted, all but Open MPI 5 go on without. Horovod 0.28 crashes where the own
  // name cannot be resolved.
  if (job->shares_machine_ && job->kind_ != CommandKind::kOpaque)
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
  if (is_launcher) {
    kind_ = CommandKind::kLauncher;
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
  rsh_program_ = std::move(*link);
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
  setup_.rsh.set_variables(daemon_variables());
  setup_.rsh.watch({}, [this](const mpi::RshCommandEnd& end) { command_ended(end); });
  if (assign.node_rank != 0) return std::optional<JobLauncher>();
  if (setup_.context.options.framework.role == MpiRole::kWorker) {
    return Error{Code::kConfig, 0,
                 "every node of this job is a --mpi-role worker: none is there to start mpirun"};
  }
  MUSTER_RETURN_IF_ERROR(choose_hosts());
  std::string temp_folder;
  if (shares_machine_) {
    temp_folder = folder_->path() + "/launcher";
    MUSTER_RETURN_IF_ERROR(setup_.doors.files.make_directories(temp_folder));
  }
  return command_job_ ? begin_command(temp_folder) : begin_launcher(temp_folder);
}

std::vector<PlannedVariable> MpiJob::daemon_variables() const {
  std::vector<PlannedVariable> variables = {
      launcher_variable(mpi::kRankReportVariable, report(), "whom a rank reports to"),
      launcher_variable(mpi::kRankNodeVariable, setup_.context.node, "the node of a rank")};
  // Nodes on one machine would share the folder of Open MPI's session, and so would the launcher
  // and its daemon, which takes the node for another machine.
  if (shares_machine_) {
    variables.push_back(temp_folder_variable(folder_->path()));
    variables.push_back({.name = "OMPI_MCA_btl_vader_backing_directory",
                         .value = folder_->path(),
                         .reason =
                             "shared memory is named after the host and the rank on its node: "
                             "that of two nodes here would be one",
                         .source = "tried: Open MPI 4.1.4",
                         .claim = Claim::kOverrides});
  }
  return joined(std::move(variables), common_variables());
}

// Of the launcher and of daemons. Nodes without agents are none of the round's, and those of an
// elastic launcher change while its ranks run.
std::vector<PlannedVariable> MpiJob::common_variables() const {
  auto variables =
      joined(transport_->variables(), node_variables(starts_unbound(*transport_, kind_)));
  if (!transport_->has_agents() || setup_.context.options.framework.is_elastic()) return variables;
  return joined(std::move(variables), master_variables(assign_, report()));
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
  if (shares_machine_ && !has_own_name_ && needs_name) {
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
  const auto programs = find_programs(*found);
  int ranks = 0;
  for (const auto& host : hosts_) ranks += host.slots;
  auto launch = plan_mpi_launch(
      {.facts = std::move(facts),
       .path = found->path,
       .watched = transport_->has_agents(),
       .users_own = kind_ == CommandKind::kLauncher,
       .programs = programs,
       .command = command_,
       .muster = muster_,
       .world_size = ranks,
       .report = report(),
       .agent_token = setup_.context.token,
       .temp_folder = temp_folder,
       .needed_variables = joined(setup_.rsh.worker_variables(), common_variables())},
      setup_.context.environment);
  if (!launch) return std::move(launch).error();
  if (transport_->has_agents() && (kind_ != CommandKind::kLauncher || !programs.empty())) {
    auto input = open_launcher_input(found->kind.implementation);
    if (!input) return std::move(input).error();
    if (input->is_open())
      launch->launcher.input = std::make_shared<const UniqueFd>(std::move(*input));
  }
  tell_shells(launch->shells, rsh_program_);
  if (starts_unbound(*transport_, kind_)) tell_threads(hosts_, setup_.context.environment);
  log::info("mpi.launch", {{"launcher", found->path},
                           {"mpi", mpi::to_string(found->kind.implementation)},
                           {"nodes", static_cast<int64_t>(hosts_.size())},
                           {"ranks", kind_ == CommandKind::kLauncher ? "as its command says"
                                                                     : std::to_string(ranks)},
                           {"kept", join(kept_names(launch->decisions), ",")}});
  listen({.launcher = launch->launcher.name,
          .mpi = found->kind.implementation,
          .all_report = !programs.empty()});
  return std::optional<JobLauncher>(std::move(launch->launcher));
}

std::vector<mpi::HostSlots> MpiJob::listed() const {
  return list_ ? list_->with_slots() : std::vector<mpi::HostSlots>{};
}

std::string MpiJob::report() const {
  const Address agent{assign_.master_host, static_cast<uint16_t>(assign_.master_port)};
  return agent.to_string() + " " + std::to_string(assign_.round) + " " +
         setup_.context.options.run_id;
}

Result<std::optional<JobLauncher>> MpiJob::begin_command(const std::string& temp_folder) {
  auto launcher = command_job_->begin(
      assign_, command_,
      {.report = transport_->has_agents() ? report() : "",
       .facts = launch_facts(),
       .temp_folder = temp_folder,
       .needed_variables = joined(setup_.rsh.worker_variables(), common_variables())},
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

// Of the user's own launcher. Empty: its ranks are not watched.
std::vector<ProgramWord> MpiJob::find_programs(const FoundLauncher& launcher) {
  if (!transport_->has_agents()) {
    warn_of_unwatched(transport_->no_agents(), launcher.path);
    return {};
  }
  if (kind_ != CommandKind::kLauncher) return {};
  auto programs = program_words(setup_.doors.files, launcher, command_);
  if (!programs) {
    log::warning("mpi.ranks_unwatched",
                 {{"reason", programs.error().text},
                  {"action", "believing " + launcher.path +
                                 ", without --mpi-start-timeout; `muster rank --` before the "
                                 "program watches its ranks"}});
    return {};
  }
  name_for_rank(setup_.doors.files, launcher, *programs, command_.words,
                search_path(setup_.context.environment));
  return std::move(*programs);
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
  facts.rsh_program = rsh_program_;
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
