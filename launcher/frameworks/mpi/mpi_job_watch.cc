// How an MpiJob watches: the ranks, on the launcher's node, and the daemons, on every one.
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "elastic/last_words.h"
#include "launcher/frameworks/mpi/mpi_job.h"
#include "mpi/launch/start_refusal.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

// Of a process that is no rank; its reason says only how it ended.
elastic::FailureRecord record_of(const MpiJobSetup& setup, const rendezvous::Assign& assign,
                                 TimePoint begun, pid_t pid, const ExitStatus& status) {
  auto verdict = elastic::classify({.status = status});
  elastic::FailureRecord record;
  record.rank = elastic::kNoRank;
  record.node = setup.context.node;
  record.pid = pid;
  record.status = status;
  record.failure_class = verdict.failure_class;
  record.reason = std::move(verdict.reason);
  record.noticed = setup.doors.loop.now();
  record.alive = record.noticed - begun;
  record.attempt = assign.attempt;
  return record;
}

// With its own words in place of how it ended, where they say why it started no ranks.
void explain_by_words(elastic::FailureRecord& record, std::string_view last_words) {
  const std::string refusal = mpi::start_refusal(last_words);
  if (refusal.empty()) return;
  record.failure_class = elastic::FailureClass::kInfrastructure;
  const size_t name = record.reason.find(": ");
  record.reason.erase(name == std::string::npos ? 0 : name + 2);
  record.reason += refusal;
}

}  // namespace

// ---- the ranks, on the launcher's node

// `expected`: what its launcher tells of it.
void MpiJob::listen(mpi::MpiExpectation expected) {
  expected.node = setup_.context.node;
  expected.attempt = assign_.attempt;
  expected.start_deadline = setup_.context.options.framework.mpi_start_timeout;
  if (kind_ == CommandKind::kProgram && transport_->has_agents()) {
    for (const auto& host : hosts_) expected.ranks_by_node[host.host] = host.slots;
  }
  const TimePoint now = setup_.doors.loop.now();
  world_.emplace(now, std::move(expected));
  setup_.rsh.watch(
      {.began = [this](uint64_t line,
                       const mpi::rsh::Rank& rank) { return rank_began(line, rank); },
       .in_mpi =
           [this](uint64_t line) {
             if (world_) world_->ranks().in_mpi(line);
             look_soon();
           },
       .ended =
           [this](uint64_t line, const mpi::rsh::RankEnd& end) {
             const TimePoint noticed = setup_.doors.loop.now();
             if (world_ && !setup_.launcher_pid()) world_->ranks().launcher_ended(noticed);
             if (world_) world_->ranks().ended(noticed, line, end);
             look_soon();
             ranks_may_be_gone();
             return !world_ || !world_->ranks().holds(line);
           },
       .lost =
           [this](uint64_t line) {
             const TimePoint noticed = setup_.doors.loop.now();
             if (world_ && !setup_.launcher_pid()) world_->ranks().launcher_ended(noticed);
             if (world_) world_->ranks().lost(noticed, line);
             look_soon();
             ranks_may_be_gone();
           }},
      [this](const mpi::RshCommandEnd& end) { command_ended(end); },
      [this](const std::string& reason) { host_refused(reason); });
  arm();
}

// Hydra prints what its daemon's shell said and waits for ever, before any rank runs: these may
// call whom they like. A script may know better.
void MpiJob::host_refused(const std::string& reason) {
  if (!world_ || command_job_ || host_timer_.is_active() || !world_->ranks().nodes().empty())
    return;
  auto record = world_->ranks().record_of_launcher(setup_.doors.loop.now(),
                                                   "it looks for nodes elsewhere: " + reason);
  host_timer_ = setup_.doors.loop.after(mpi::kUnexplained, [this, record] {
    if (world_ && world_->ranks().nodes().empty()) fail(record);
  });
}

Status MpiJob::check(const mpi::rsh::Rank& rank) const {
  if (rank.run_id == setup_.context.options.run_id && rank.round == assign_.round) return {};
  return Error{Code::kPeer, 0, "of another job or round"};
}

Status MpiJob::rank_began(uint64_t line, const mpi::rsh::Rank& rank) {
  if (!world_) return Error{Code::kPeer, 0, "its launcher has ended"};
  MUSTER_RETURN_IF_ERROR(check(rank));
  if (command_job_) command_job_->rank_began(rank.node, static_cast<int>(rank.size));
  const auto place = world_->began(setup_.doors.loop.now(), line, rank);
  if (!place) return Error(place.error());
  if (*place == mpi::RankPlace::kFirstUnjudged) {
    log::warning("mpi.ranks_unwatched",
                 {{"reason", "ranks of another mpirun of the command have not all ended well"},
                  {"action", "believing the one that began beside it"}});
  }
  // The last of the expected ranks has begun.
  const bool of_launcher = *place == mpi::RankPlace::kJudged && rank.world == 0;
  const auto placement =
      of_launcher && is_undecided() ? world_->ranks().placement() : std::optional<std::string>();
  if (placement) {
    log::info("mpi.ranks", {{"placement", *placement}});
    if (kind_ == CommandKind::kLauncher)
      warn_of_idle(idle_hosts(hosts_, world_->ranks().nodes()), static_cast<int>(rank.size));
  }
  arm();
  return {};
}

void MpiJob::arm() {
  watchdog_.reset();
  if (!world_ || !is_undecided()) return;
  if (const auto next = world_->next_deadline())
    watchdog_ = setup_.doors.loop.at(*next, [this] { look(); });
}

// Once for all the ends of this turn.
void MpiJob::look_soon() {
  if (world_ && is_undecided()) watchdog_ = setup_.doors.loop.soon([this] { look(); });
}

void MpiJob::look() {
  const TimePoint now = setup_.doors.loop.now();
  // Nothing explains more than that a command left its ranks behind; other nodes' daemons, which
  // end because of that, tell of it once they have waited for an explanation.
  if (held_timer_.is_active() && !held_ && world_->ranks().left_behind()) {
    held_timer_.reset();
    tell_held();
    return settle();
  }
  if (auto record = world_->ranks().failure(now)) return fail(std::move(*record));
  if (world_->lingers(now) && world_->hangs(now, written_by_launcher())) {
    log::warning("mpi.launcher_hangs",
                 {{"silent_s", to_seconds(mpi::kLauncherSilence)},
                  {"action", "killing it: all its ranks have ended with success"}});
    MUSTER_CHECK(step(mpi::MpiRoundEvent::kHang) == mpi::MpiRoundAction::kKillLauncher);
    setup_.signal(SIGKILL);
  }
  arm();
}

uint64_t MpiJob::written_by_launcher() const {
  const auto pid = setup_.launcher_pid();
  return pid ? bytes_written(setup_.doors.files, *pid).value_or(0) : 0;
}

// The launcher runs here.
bool MpiJob::watches_ranks() const { return world_ || (command_job_ && command_job_->runs()); }

// No failure is known.
bool MpiJob::is_undecided() const { return state_ == mpi::MpiRoundState::kBegun; }

bool MpiJob::hold(const elastic::FailureRecord& record) {
  const bool ran = record.pid != 0;
  if (ran && watches_ranks() && is_undecided()) held_ = record;
  return held_.has_value();
}

void MpiJob::group_ended(bool well, std::function<void()> settled) {
  settled_ = std::move(settled);
  const bool lied = well && world_ && is_undecided() &&
                    world_->ranks().objection(setup_.doors.loop.now()).has_value();
  if (!held_ && !lied) return settle();
  held_timer_ = setup_.doors.loop.after(mpi::kVerdictDelay, [this] {
    tell_held();
    settle();
  });
  if (lied) look_soon();
}

void MpiJob::tell_held() {
  auto explained = explanation();
  const auto held = std::exchange(held_, std::nullopt);
  if (explained) return fail(std::move(*explained));
  if (!held) return;
  auto record = command_job_ ? command_job_->explained(*held) : transport_->explained(*held);
  explain_by_words(record, join(record.last_lines, "\n"));
  fail(std::move(record));
}

void MpiJob::settle() {
  const auto settled = std::exchange(settled_, {});
  settled();
}

// Open MPI alone knows of a rank that leaves without MPI_Finalize; or its peers miss it before.
std::optional<elastic::FailureRecord> MpiJob::explanation() const {
  if (!world_) return std::nullopt;
  const bool missed = held_ && elastic::tells_of_lost_peer(
                                   {.message = "", .last_lines = join(held_->last_lines, "\n")});
  if (auto left = missed ? world_->ranks().left_early() : std::nullopt) return left;
  return world_->ranks().own_end();
}

void MpiJob::round_over() {
  transport_->round_over();
  held_.reset();
  held_timer_.reset();
  settled_ = {};
}

bool MpiJob::launcher_succeeded(bool well) {
  const bool said_so = well && watches_ranks();
  const bool can_tell = transport_->has_agents() && kind_ == CommandKind::kScript;
  const auto misplaced =
      said_so && world_ && can_tell ? command_job_->misplacement() : std::optional<std::string>();
  if (command_job_) command_job_->end();
  if (misplaced) fail(world_->ranks().record_of_launcher(setup_.doors.loop.now(), *misplaced));
  if (auto record =
          said_so && world_ ? world_->ranks().objection(setup_.doors.loop.now()) : std::nullopt)
    fail(std::move(*record));
  step(said_so ? mpi::MpiRoundEvent::kEndedWell : mpi::MpiRoundEvent::kEndedOtherwise);
  return state_ == mpi::MpiRoundState::kSucceeded;
}

// ---- signals for the ranks

// Ranks below a launcher that copes with their ends itself are that launcher's business.
std::vector<Descendant> MpiJob::ranks_here() const {
  if (setup_.context.options.framework.is_elastic()) return {};
  auto ranks = setup_.doors.processes.descendants({});
  std::erase_if(ranks, [](const Descendant& each) {
    return name_of_process(each.pid) != mpi::kRankProcessName;
  });
  return ranks;
}

bool MpiJob::tell_ranks(int signal) {
  const bool told = !setup_.doors.processes.signal_all(ranks_here(), signal).empty();
  return has_ranks() || told;
}

bool MpiJob::has_ranks() const { return world_ ? world_->ranks().run() : !ranks_here().empty(); }

void MpiJob::ranks_may_be_gone() {
  if (!has_ranks()) setup_.ranks_gone();
}

// ---- the daemons, on every node

// That it ended before the round did is a failure, whatever the launcher will say: daemons end with
// 0 when their ranks have.
void MpiJob::command_ended(const mpi::RshCommandEnd& end) {
  if (end.status.success() || daemon_timer_.is_active()) return;
  // A launcher that its daemon's end has ended may be gone before that end is noticed here. What a
  // launcher ends itself is no failure but its consequence.
  if ((end.caller_gone || end.told) && mpi::start_refusal(end.last_words).empty()) return;
  auto record = record_of(setup_, assign_, begun_, end.pid, end.status);
  record.reason =
      end.program + ", started " + transport_->way_from(end.caller) + ": " + record.reason;
  record.alive = end.alive;
  // No rank's end explains that a daemon was killed; it explains theirs. Launchers say SIGTERM.
  // But once the launcher has ended, what it left on its node is swept away, daemons too.
  const bool launcher_ended = world_ && !setup_.launcher_pid();
  const bool killed = end.status.signal != 0 && end.status.signal != SIGTERM && !launcher_ended;
  explain_by_words(record, end.last_words);
  const bool explained = record.failure_class == elastic::FailureClass::kInfrastructure;
  const Duration delay = killed || explained ? Duration::zero() : mpi::kVerdictDelay;
  daemon_timer_ = setup_.doors.loop.after(delay, [this, record] { fail(record); });
}

// The command that it served ends with it, as if its caller were gone. Once the launcher has ended,
// the round's end kills what is left of the transport, which means nothing.
void MpiJob::helper_killed(const std::string& what, pid_t pid, int signal) {
  if (daemon_timer_.is_active()) return;
  auto record = record_of(setup_, assign_, begun_, pid, {.signal = signal});
  record.reason = what + ": " + record.reason;
  daemon_timer_ = setup_.doors.loop.after(mpi::kVerdictDelay, [this, record] { fail(record); });
}

void MpiJob::fail(elastic::FailureRecord record) {
  if (step(mpi::MpiRoundEvent::kFailure) != mpi::MpiRoundAction::kTellFailure) return;
  const auto& clock = setup_.doors.clock;
  record.noticed_wall = clock.wall_now() - std::chrono::duration_cast<WallTime::duration>(
                                               setup_.doors.loop.now() - record.noticed);
  watchdog_.reset();
  // Of a rank's end the launcher learns nothing before it has to end itself.
  const bool notices = record.rank == elastic::kNoRank;
  const Duration grace = notices ? setup_.job.lost_grace : setup_.context.options.grace_period;
  end_timer_ = setup_.doors.loop.after(notices ? kLauncherOwnEnd : Duration::zero(),
                                       [this, grace] { setup_.end_workers(grace); });
  setup_.failed(record);
}

}  // namespace muster::launcher
