#include "launcher/frameworks/mpi_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "launcher/frameworks/own_host_name.h"
#include "mpi/hostfile.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kRshName = "muster-rsh";
constexpr std::string_view kSshName = "muster-ssh";
// Without PATH. An empty one would mean the working directory.
constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

std::string_view search_path(const Environment& environment) {
  return environment.get("PATH").value_or(kDefaultPath);
}

// 0 = they differ.
int slots_of_each(const std::vector<mpi::HostSlots>& hosts) {
  const int first = hosts.empty() ? 0 : hosts.front().slots;
  const bool same = std::all_of(hosts.begin(), hosts.end(),
                                [first](const auto& host) { return host.slots == first; });
  return same ? first : 0;
}

bool is_dev_null(int fd) {
  struct stat given {};
  struct stat null {};
  return fstat(fd, &given) == 0 && stat("/dev/null", &null) == 0 && S_ISCHR(given.st_mode) &&
         given.st_rdev == null.st_rdev;
}

}  // namespace

Result<std::unique_ptr<MpiJob>> MpiJob::create(MpiJobSetup setup) {
  std::unique_ptr<MpiJob> job(new MpiJob(std::move(setup)));
  const AgentContext& context = job->setup_.context;
  const std::string& own_host = job->setup_.own_host;
  if (!job->setup_.secured && !Address{own_host, 0}.is_loopback()) {
    return Error{Code::kConfig, 0,
                 "--framework mpi on several machines needs a job secret, because agents run "
                 "commands for each other: mount one and set MUSTER_JOB_SECRET_FILE to its path on "
                 "every node"};
  }
  auto command = plan_worker_command(context.options, context.environment, job->setup_.doors.files);
  if (!command) return std::move(command).error();
  job->command_ = std::move(*command);
  job->users_own_ =
      context.options.entry == EntryKind::kProgram && is_launcher_name(context.options.program);
  MUSTER_RETURN_IF_ERROR(job->prepare_folder());
  job->follow_hosts();
  if (context.options.framework.uses_ssh()) MUSTER_RETURN_IF_ERROR(job->prepare_ssh());
  job->shares_machine_ = Address{own_host, 0}.is_loopback();
  // Where it is not permitted, all but Open MPI 5 go on without.
  if (job->shares_machine_) job->has_own_name_ = take_host_name(context.node).has_value();
  return job;
}

// A list that changes is followed as far as --nnodes lets it.
void MpiJob::follow_hosts() {
  const Contract* const contract = setup_.context.contract;
  if (contract == nullptr || contract->hosts.empty()) return;
  const auto changed = [this](int hosts) {
    const Options& options = setup_.context.options;
    if (options.min_nodes == options.max_nodes && hosts != options.max_nodes) {
      log::warning("mpi.hosts_fixed",
                   {{"hosts", hosts},
                    {"action", "going on with " + std::to_string(options.max_nodes) +
                                   "; --nnodes MIN:MAX lets the job follow the list"}});
    }
    setup_.hosts_changed(hosts);
  };
  list_ = std::make_unique<MpiHostList>(setup_.doors.loop, setup_.doors.files, *contract, changed);
}

MpiJob::MpiJob(MpiJobSetup setup) : setup_(std::move(setup)) {}

// The link beside the binary is in every pod under the same path, which large jobs need: their
// daemons start further daemons. Our own serves the launcher's node.
Status MpiJob::prepare_folder() {
  const Files& files = setup_.doors.files;
  auto folder = TemporaryFolder::create(setup_.context.folder);
  if (!folder) return std::move(folder).error();
  folder_ = std::move(*folder);
  auto binary = files.link_target("/proc/self/exe");
  if (!binary) return std::move(binary).error();
  muster_ = std::move(*binary);
  const std::string name(setup_.context.options.framework.uses_ssh() ? kSshName : kRshName);
  rsh_program_ = muster_.substr(0, muster_.rfind('/') + 1) + name;
  if (!files.exists(rsh_program_)) {
    auto link = folder_->link(name, muster_);
    if (!link) return std::move(link).error();
    rsh_program_ = std::move(*link);
  }
  return {};
}

Status MpiJob::prepare_ssh() {
  auto ssh =
      MpiSsh::create({.doors = setup_.doors,
                      .context = setup_.context,
                      .folder = folder_->path() + "/ssh",
                      .muster = muster_,
                      .listen_host = setup_.own_host,
                      .rsh_variables = setup_.rsh.worker_variables(),
                      .killed = [this](pid_t pid, int signal) { caller_killed(pid, signal); }});
  if (!ssh) return std::move(ssh).error();
  ssh_ = std::move(*ssh);
  return {};
}

void MpiJob::prepare_round(const rendezvous::Assign& assign) {
  if (ssh_) ssh_ready_ = ssh_->prepare_round(assign);
}

void MpiJob::process_exited(const Reaped& reaped) {
  if (!ssh_ || !ssh_->server().process_exited(reaped)) setup_.rsh.process_exited(reaped);
}

bool MpiJob::busy() const { return setup_.rsh.busy() || (ssh_ && ssh_->server().busy()); }

void MpiJob::on_idle(std::function<void()> idle) {
  const auto when_both = [this, idle = std::move(idle)] {
    if (!busy()) idle();
  };
  setup_.rsh.on_idle(when_both);
  if (ssh_) ssh_->server().on_idle(when_both);
}

Result<std::optional<JobLauncher>> MpiJob::begin_round(const rendezvous::Assign& assign) {
  clear_round();
  if (!ssh_ready_) return Error(ssh_ready_.error());
  assign_ = assign;
  step(MpiRoundEvent::kBegin);
  const std::string report =
      Address{assign.master_host, static_cast<uint16_t>(assign.master_port)}.to_string() + " " +
      std::to_string(assign.round) + " " + setup_.context.options.run_id;
  std::vector<std::string> variables = {std::string(kRankReportVariable) + "=" + report,
                                        std::string(kRankNodeVariable) + "=" + setup_.context.node};
  // Nodes on one machine would share the folder of Open MPI's session, and so would the launcher
  // and its daemon, which takes the node for another machine.
  if (shares_machine_) {
    variables.push_back("TMPDIR=" + folder_->path());
    // Shared memory is named after the host and the rank on its node: without host names of their
    // own those of two nodes here would be one. Tried: Open MPI 4.1.4.
    variables.push_back("OMPI_MCA_btl_vader_backing_directory=" + folder_->path());
  }
  if (ssh_) variables.push_back(ssh_->variable());
  setup_.rsh.set_variables(std::move(variables));
  setup_.rsh.watch({}, [this](const RshCommandEnd& end) { command_ended(end); });
  if (assign.node_rank != 0) return std::optional<JobLauncher>();
  if (setup_.context.options.framework.role == MpiRole::kWorker) {
    return Error{Code::kConfig, 0,
                 "every node of this job is a --mpi-role worker: none is there to start mpirun"};
  }
  hosts_ = round_hosts(assign.roster, list_ ? list_->with_slots() : std::vector<mpi::HostSlots>{});
  int ranks = 0;
  for (const auto& host : hosts_) ranks += host.slots;

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
  std::string temp_folder;
  if (shares_machine_) {
    temp_folder = folder_->path() + "/launcher";
    MUSTER_RETURN_IF_ERROR(setup_.doors.files.make_directories(temp_folder));
  }
  auto facts = launch_facts(assign, *found);
  if (!facts) return std::move(facts).error();
  auto launch = plan_mpi_launch({.facts = std::move(*facts),
                                 .path = found->path,
                                 .users_own = users_own_,
                                 .command = command_,
                                 .muster = muster_,
                                 .world_size = ranks,
                                 .report = report,
                                 .agent_token = setup_.context.token,
                                 .temp_folder = temp_folder,
                                 .ssh = ssh_ ? ssh_->variable() : ""},
                                setup_.context.environment);
  if (!launch) return std::move(launch).error();
  log::info("mpi.launch", {{"launcher", found->path},
                           {"mpi", mpi::to_string(found->kind.implementation)},
                           {"nodes", static_cast<int64_t>(hosts_.size())},
                           {"ranks", users_own_ ? "as its command says" : std::to_string(ranks)},
                           {"kept", join(launch->kept, ",")}});
  listen(assign, launch->launcher.name);
  return std::optional<JobLauncher>(std::move(launch->launcher));
}

Result<FoundLauncher> MpiJob::choose_launcher() const {
  const Environment& environment = setup_.context.environment;
  const auto wanted = setup_.context.options.framework.mpi;
  if (!users_own_) return find_launcher(setup_.doors.files, search_path(environment), wanted);
  auto kind = identify_launcher(setup_.doors.files, command_.program);
  if (!kind && wanted) kind = mpi::Launcher{.implementation = *wanted};
  if (kind) return FoundLauncher{command_.program, *kind};
  return Error{Code::kConfig, 0,
               "'" + command_.program + "' may be of any MPI: say which with --mpi"};
}

Result<std::string> MpiJob::write_hosts(const rendezvous::Assign& assign,
                                        mpi::Implementation implementation) {
  auto text = mpi::write_hostfile(implementation, hosts_);
  if (!text) return std::move(text).error().with_context("hostfile of the round");
  std::string path = folder_->path() + "/hosts." + std::to_string(assign.round);
  MUSTER_RETURN_IF_ERROR(setup_.doors.files.write(path, *text));
  return path;
}

Result<mpi::LaunchFacts> MpiJob::launch_facts(const rendezvous::Assign& assign,
                                              const FoundLauncher& launcher) {
  auto hosts = write_hosts(assign, launcher.kind.implementation);
  if (!hosts) return std::move(hosts).error();
  const auto addresses = interface_addresses();
  const Route route = addresses ? route_of(*addresses, assign.master_host) : Route{};
  mpi::LaunchFacts facts;
  facts.launcher = launcher.kind;
  facts.rsh_program = rsh_program_;
  facts.hostfile = std::move(*hosts);
  facts.hosts = static_cast<int>(hosts_.size());
  facts.slots = slots_of_each(hosts_);
  facts.wants_stdin = !is_dev_null(STDIN_FILENO);
  facts.interface = route.interface;
  facts.network = route.network;
  facts.has_ipv4 = route.has_ipv4;
  facts.has_rdma = setup_.doors.files.exists("/sys/class/infiniband");
  facts.is_root = geteuid() == 0;
  facts.start_deadline = setup_.context.options.framework.mpi_start_timeout;
  return facts;
}

// ---- the ranks, on the launcher's node

void MpiJob::listen(const rendezvous::Assign& assign, const std::string& launcher) {
  MpiExpectation expected;
  expected.launcher = launcher;
  expected.node = setup_.context.node;
  expected.attempt = assign.attempt;
  expected.start_deadline = setup_.context.options.framework.mpi_start_timeout;
  if (!users_own_) {
    for (const auto& host : hosts_) expected.ranks_by_node[host.host] = host.slots;
  }
  const TimePoint now = setup_.doors.loop.now();
  ranks_.emplace(now, std::move(expected));
  setup_.rsh.watch(
      {.began = [this](uint64_t line, const rsh::Rank& rank) { return rank_began(line, rank); },
       .ended =
           [this](uint64_t line, const rsh::RankEnd& end) {
             if (!ranks_) return;
             auto record = ranks_->ended(setup_.doors.loop.now(), line, end);
             if (record) fail(std::move(*record));
             arm();
           },
       .lost =
           [this](uint64_t line) {
             if (ranks_) ranks_->lost(setup_.doors.loop.now(), line);
             arm();
           }},
      [this](const RshCommandEnd& end) { command_ended(end); });
  arm();
}

Status MpiJob::rank_began(uint64_t line, const rsh::Rank& rank) {
  const auto& options = setup_.context.options;
  if (!ranks_ || rank.run_id != options.run_id || rank.round != assign_.round)
    return Error{Code::kPeer, 0, "a rank of another job or round"};
  MUSTER_RETURN_IF_ERROR(ranks_->began(setup_.doors.loop.now(), line, rank));
  if (const auto placement = ranks_->placement();
      placement && step(MpiRoundEvent::kAllBegan) == MpiRoundAction::kTellPlacement)
    log::info("mpi.ranks", {{"placement", *placement}});
  arm();
  return {};
}

void MpiJob::arm() {
  watchdog_.reset();
  if (!ranks_ || !is_undecided()) return;
  if (const auto next = ranks_->next_deadline())
    watchdog_ = setup_.doors.loop.at(*next, [this] { look(); });
}

void MpiJob::look() {
  const TimePoint now = setup_.doors.loop.now();
  if (auto record = ranks_->overdue(now)) return fail(std::move(*record));
  if (!ranks_->launcher_lingers(now)) return arm();
  const auto pid = setup_.launcher_pid();
  const uint64_t written = pid ? bytes_written(setup_.doors.files, *pid).value_or(0) : 0;
  if (written_ != written) {
    written_ = written;
    watchdog_ = setup_.doors.loop.after(kLauncherSilence, [this] { look(); });
    return;
  }
  MUSTER_CHECK(step(MpiRoundEvent::kHang) == MpiRoundAction::kKillLauncher);
  log::warning("mpi.launcher_hangs",
               {{"silent_s", to_seconds(kLauncherSilence)},
                {"action", "killing it: all its ranks have ended with success"}});
  setup_.launcher_hangs();
}

// No failure is known.
bool MpiJob::is_undecided() const {
  return state_ == MpiRoundState::kBegun || state_ == MpiRoundState::kPlaced;
}

bool MpiJob::hold(const elastic::FailureRecord& record) {
  const bool ran = record.pid != 0;
  if (ran && ranks_ && is_undecided()) held_ = record;
  return held_.has_value();
}

bool MpiJob::hold_end(bool well, std::function<void()> again) {
  const bool lied =
      well && ranks_ && is_undecided() && ranks_->objection(setup_.doors.loop.now()).has_value();
  if (std::exchange(held_enough_, false) || (!held_ && !lied)) return false;
  held_timer_ = setup_.doors.loop.after(kVerdictDelay, [this, again = std::move(again)] {
    if (const auto held = std::exchange(held_, std::nullopt)) fail(*held);
    held_enough_ = true;
    again();
  });
  return true;
}

void MpiJob::drop_held() {
  held_.reset();
  held_timer_.reset();
  held_enough_ = false;
}

bool MpiJob::launcher_succeeded(bool well) {
  const bool said_so = well && ranks_;
  if (auto record = said_so ? ranks_->objection(setup_.doors.loop.now()) : std::nullopt)
    fail(std::move(*record));
  step(said_so ? MpiRoundEvent::kEndedWell : MpiRoundEvent::kEndedOtherwise);
  return state_ == MpiRoundState::kSucceeded;
}

// ---- the daemons, on every node

// That it ended before the round did is a failure, whatever the launcher will say: daemons end with
// 0 when their ranks have.
void MpiJob::command_ended(const RshCommandEnd& end) {
  if (end.status.success() || daemon_timer_.is_active()) return;
  elastic::FailureRecord record;
  record.rank = elastic::kNoRank;
  record.node = setup_.context.node;
  record.pid = end.pid;
  record.status = end.status;
  auto verdict = elastic::classify({.status = end.status});
  record.failure_class = verdict.failure_class;
  // Over SSH the caller is this node's own sshd.
  record.reason = end.program + ", started " +
                  (ssh_ ? std::string("over SSH") : "by " + end.caller) + ": " + verdict.reason;
  record.noticed = setup_.doors.loop.now();
  record.alive = end.alive;
  record.attempt = assign_.attempt;
  // No rank's end explains that a daemon was killed; it explains theirs. Launchers say SIGTERM.
  const bool killed = end.status.signal != 0 && end.status.signal != SIGTERM;
  const Duration delay = killed ? Duration::zero() : kVerdictDelay;
  daemon_timer_ = setup_.doors.loop.after(delay, [this, record] { fail(record); });
}

// The command that it ran ends with it, as a caller that is gone. Once the launcher has ended, what
// is left of connections is swept away, which means nothing.
void MpiJob::caller_killed(pid_t pid, int signal) {
  if (daemon_timer_.is_active()) return;
  elastic::FailureRecord record;
  record.rank = elastic::kNoRank;
  record.node = setup_.context.node;
  record.pid = pid;
  record.status.signal = signal;
  auto verdict = elastic::classify({.status = record.status});
  record.failure_class = verdict.failure_class;
  record.reason = "sshd, serving a connection: " + verdict.reason;
  record.noticed = setup_.doors.loop.now();
  record.attempt = assign_.attempt;
  daemon_timer_ = setup_.doors.loop.after(kVerdictDelay, [this, record] { fail(record); });
}

void MpiJob::fail(elastic::FailureRecord record) {
  if (step(MpiRoundEvent::kFailure) != MpiRoundAction::kTellFailure) return;
  const auto& clock = setup_.doors.clock;
  record.noticed_wall = clock.wall_now() - std::chrono::duration_cast<WallTime::duration>(
                                               setup_.doors.loop.now() - record.noticed);
  watchdog_.reset();
  end_timer_ = setup_.doors.loop.after(kLauncherOwnEnd, [this] { setup_.end_launcher(); });
  setup_.failed(record);
}

// ---- the life of a round

// What the table says is to be done; the state has changed already.
MpiRoundAction MpiJob::step(MpiRoundEvent event) {
  const MpiRoundTransition& row = transition(state_, event);
  MUSTER_CHECK(row.action != MpiRoundAction::kBug);
  state_ = row.next;
  return row.action;
}

void MpiJob::clear_round() {
  drop_held();
  written_.reset();
  ranks_.reset();
  watchdog_.reset();
  daemon_timer_.reset();
  end_timer_.reset();
}

}  // namespace muster::launcher
