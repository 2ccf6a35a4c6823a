#include "launcher/workers/local_group.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/process/shortage.h"
#include "base/process/signal_policy.h"
#include "base/text.h"
#include "elastic/last_words.h"
#include "launcher/progress/progress_watch.h"
#include "launcher/report/error_file.h"
#include "launcher/report/exit_codes.h"
#include "launcher/report/failure_report.h"
#include "launcher/workers/environment_log.h"

namespace muster::launcher {

namespace {

using elastic::GroupAction;
using elastic::GroupEvent;
using elastic::GroupState;

// For the reader of our output to take what is left; after that it is counted as lost.
constexpr Duration kFlushDeadline = std::chrono::seconds(5);

// Lines that come only now may say how far the workers got.
void close_attempt(Output& output, ProgressWatch* progress) {
  output.close_attempt();
  if (progress != nullptr) progress->end_attempt();
}

}  // namespace

LocalGroup::LocalGroup(AgentDoors doors, const AgentContext& context, FrameworkDriver& driver,
                       LocalGroupCallbacks callbacks)
    : doors_(doors),
      context_(context),
      callbacks_(std::move(callbacks)),
      supervisor_(doors_.loop, doors_.processes,
                  {[this](const WorkerExit& exit) { worker_exited(exit); },
                   [this](size_t) {
                     ending_.over();
                     handle(GroupEvent::kTreeGone);
                   },
                   [this](const Reaped& reaped) { driver_.process_exited(reaped); }}),
      guardian_(doors_, context_, supervisor_),
      driver_(driver),
      ending_(doors_.loop, supervisor_, driver_,
              {[this] { handle(GroupEvent::kGraceOver); }, [this] { callbacks_.saved(); }}),
      container_(doors_.files, context_.setup.original_fd_limit) {
  if (context_.sidecar != 0) supervisor_.spare(context_.sidecar);
}

Status LocalGroup::open(int workers) {
  const FrameworkNeeds needs = driver_.needs();
  auto plan = WorkerPlan::make(doors_.files, context_, needs);
  if (!plan) return std::move(plan).error();
  if (plan->local_world_size() > 0) MUSTER_RETURN_IF_ERROR(driver_.check(plan->command().program));
  const Status found = check_python_module(plan->command(), context_.options, context_.environment,
                                           needs.python_module);
  if (!found) return Error(found.error()).with_context("--framework");
  plan_.emplace(std::move(*plan));
  plan_->set_round(plan_->alone(workers));
  log_replaced(driver_, *plan_, context_.environment);
  OutputOptions output_options = plan_->output_options();
  if (auto* const progress = context_.progress) {
    output_options.listener = [progress](int local_rank, std::string_view lines) {
      progress->take_lines(local_rank, lines);
    };
  }
  auto output =
      Output::create(doors_.loop, doors_.files, doors_.console, std::move(output_options));
  if (!output) return std::move(output).error();
  output_ = std::move(*output);
  if (needs.folder) guardian_.begin();
  return {};
}

bool LocalGroup::alive() const {
  return state_ != GroupState::kIdle && state_ != GroupState::kFinished;
}

int LocalGroup::processes() const {
  if (!plan_->has_launcher()) return plan_->local_world_size();
  return launcher_ ? 1 : 0;
}

// A node whose workers another one's launcher starts serves until it is told; else a node without
// workers misses none.
bool LocalGroup::all_succeeded() const {
  const auto succeeded = std::ranges::count(records_, elastic::FailureClass::kSuccess,
                                            &elastic::FailureRecord::failure_class);
  return succeeded == processes() && (processes() > 0 || !plan_->has_launcher());
}

void LocalGroup::start(int attempt) {
  MUSTER_CHECK(!alive());
  attempt_ = attempt;
  state_ = GroupState::kIdle;
  ending_.begin_life(context_.options.grace_period);
  handle(GroupEvent::kStart);
}

void LocalGroup::stop(int signal, Duration grace, bool again) {
  if (!held_.lost.empty()) settle_rest();
  if (!alive()) return;
  const bool ends = state_ == GroupState::kFinalStopping || state_ == GroupState::kFinalSweeping;
  if (ends) return ending_.shorten(grace);
  ending_.ask(signal, grace);
  handle(again ? GroupEvent::kInterrupted : GroupEvent::kShutdown);
  if (again && supervisor_.running() == 0) return handle(GroupEvent::kWorkersGone);
  if (!driver_.is_serving()) served_all();
}

void LocalGroup::kill() {
  stop(SIGTERM, Duration::zero());
  // The second word means "now".
  if (state_ == GroupState::kFinalStopping) handle(GroupEvent::kShutdown);
}

void LocalGroup::restart(std::optional<Duration> pause) {
  if (!pause) return handle(GroupEvent::kRestartRefused);
  ++attempt_;
  handle(GroupEvent::kRestartGranted);
  if (*pause == Duration::zero()) return handle(GroupEvent::kBackoffOver);
  backoff_timer_ = doors_.loop.after(*pause, [this] { handle(GroupEvent::kBackoffOver); });
}

void LocalGroup::resolve(int local_rank, std::optional<Duration> pause,
                         const std::string& decision) {
  const auto found = held_.kept.find(local_rank);
  if (found == held_.kept.end()) return;  // all were told to end meanwhile
  if (pause && !decision.empty()) {
    log::warning("worker.restart", {{"local_rank", local_rank},
                                    {"failure", found->second.failure},
                                    {"decision", decision},
                                    {"action", "the others run on"}});
    // Also after no pause: this may be said while the worker's end is looked at.
    found->second.pause =
        doors_.loop.after(*pause, [this, local_rank] { resolve(local_rank, Duration::zero()); });
    return;
  }
  const auto kept = held_.kept.extract(found);
  if (pause) {
    const auto pid = start_worker(local_rank);
    if (!pid) return start_failed(local_rank, pid.error());
    log::debug("worker.start",
               {{"rank", plan_->rank_of(local_rank)}, {"pid", *pid}, {"attempt", attempt_}});
  } else {
    kept.mapped().settle();
    settle_rest();
  }
}

// A node without workers of its own stays in the round for the commands of others.
void LocalGroup::served_all() {
  if (state_ == GroupState::kFinalStopping && supervisor_.running() == 0)
    handle(GroupEvent::kWorkersGone);
}

void LocalGroup::handle(GroupEvent event) {
  const auto& row = elastic::transition(state_, event);
  log::debug("group.transition", {{"state", elastic::to_string(state_)},
                                  {"event", elastic::to_string(event)},
                                  {"next", elastic::to_string(row.next)},
                                  {"action", elastic::to_string(row.action)}});
  state_ = row.next;
  perform(row.action);
}

void LocalGroup::perform(GroupAction action) {
  switch (action) {
    case GroupAction::kNothing:
      return;
    case GroupAction::kSpawn:
      return start_attempt();
    case GroupAction::kTerminate:
      held_.kept.clear();  // none of them starts again, and what it has left undone stays so
      return ending_.terminate();
    case GroupAction::kEndRest:
      return ending_.end_rest();
    case GroupAction::kSweep:
      ending_.over();
      return supervisor_.sweep();
    case GroupAction::kDecide:
      close_attempt(*output_, context_.progress);
      return callbacks_.decide();
    case GroupAction::kWait:
      return;  // restart() knows for how long and arms the timer
    case GroupAction::kFinish:
      backoff_timer_.reset();
      close_attempt(*output_, context_.progress);
      return callbacks_.finished();
    case GroupAction::kBug:
      MUSTER_CHECK(action != GroupAction::kBug);
  }
}

void LocalGroup::start_attempt() {
  records_.clear();
  ending_.begin_attempt();
  would_fail_again_ = false;
  if (const Status prepared = prepare_attempt(); !prepared)
    return start_failed(0, prepared.error());
  for (int local_rank = 0; local_rank < processes(); ++local_rank) {
    if (auto* apart = driver_.apart(); apart != nullptr && !apart->starts(local_rank)) {
      WorkerExit never;  // it counts as a success
      never.local_rank = local_rank;
      held_.kept[local_rank].settle = [this, never] {
        settle(never, {elastic::FailureClass::kSuccess, "had nothing to do"}, {});
      };
      continue;
    }
    const auto pid = start_worker(local_rank);
    if (!pid) return start_failed(local_rank, pid.error());
    log::debug("worker.start",
               {{"rank", plan_->rank_of(local_rank)}, {"pid", *pid}, {"attempt", attempt_}});
  }
  handle(GroupEvent::kAllStarted);
  container_.begin();
  guardian_.begin();
  if (context_.progress != nullptr) {
    context_.progress->begin_attempt({.attempt = attempt_,
                                      .round = plan_->round().round,
                                      .first_rank = plan_->rank_of(0),
                                      .workers = launcher_ ? 0 : plan_->local_world_size()},
                                     driver_.needs().folder);
  }
  callbacks_.started();
  if (all_succeeded()) handle(GroupEvent::kAllSucceeded);
}

Status LocalGroup::prepare_attempt() {
  launcher_.reset();
  auto round = callbacks_.round();
  if (!round) return std::move(round).error();
  round->attempt = attempt_;
  plan_->set_round(std::move(*round), callbacks_.network ? callbacks_.network() : WorkerNetwork{});
  log_fabric(plan_->fabric_news());
  MUSTER_RETURN_IF_ERROR(output_->open_attempt(attempt_, plan_->labels()));
  const std::string error_file = output_->paths(0).error_file;
  guardian_.attempt_has(error_file.empty() ? "" : folder_of(error_file));
  auto launcher = driver_.begin_attempt(plan_->round(), plan_->local_world_size());
  if (!launcher) return std::move(launcher).error();
  launcher_ = std::move(*launcher);
  return {};
}

Result<pid_t> LocalGroup::start_worker(int local_rank) {
  const ChildStreams streams = output_->child_streams(local_rank);
  if (launcher_) {
    auto pid = supervisor_.start(local_rank, plan_->start(*launcher_, streams));
    if (pid) output_->child_started(local_rank);
    return pid;
  }
  auto worker = plan_->start(local_rank, streams, output_->paths(local_rank).error_file);
  if (!worker) return std::move(worker).error();
  MUSTER_RETURN_IF_ERROR(driver_.add_variables(plan_->round(), local_rank, worker->environment));
  MUSTER_RETURN_IF_ERROR(driver_.attach(local_rank, *worker));
  if (auto* const progress = context_.progress) {
    if (auto variable = progress->variable(local_rank))
      worker->environment.add(EnvironmentLayer::kAgent, *std::move(variable));
  }
  for (const PlannedVariable& variable : context_.worker_variables)
    worker->environment.add(EnvironmentLayer::kAgent, variable);
  worker->request.environment =
      worker->environment.merge(context_.environment).environment.to_exec_strings();
  const bool has_terminal = callbacks_.interrupted && processes() == 1 && streams.are_inherited();
  if (has_terminal && !terminal_) terminal_ = Terminal::find(doors_.processes);
  if (terminal_) terminal_->prepare(worker->request);
  auto pid = supervisor_.start(local_rank, worker->request);
  if (terminal_) terminal_->started(pid ? *pid : 0);
  // What starts again writes where it wrote before.
  auto* const apart = driver_.apart();
  const bool again = apart != nullptr && apart->starts_again(local_rank);
  if (pid && !again) output_->child_started(local_rank);
  return pid;
}

// One worker could not be started, or nothing could be prepared for any of them (then local rank 0
// stands for all).
void LocalGroup::start_failed(int local_rank, const Error& error) {
  elastic::Observation observation;
  observation.spawn_errno = error.os_errno != 0 ? error.os_errno : EINVAL;
  const bool misconfigured = error.code == Code::kConfig;
  would_fail_again_ = misconfigured || elastic::same_start_fails(observation.spawn_errno);
  WorkerExit exit;
  exit.local_rank = local_rank;
  exit.status.code = misconfigured                  ? kExitConfig
                     : error.code == Code::kTimeout ? kExitUnavailable
                                                    : start_failure_code(observation.spawn_errno);
  elastic::Classified verdict = elastic::classify(observation);
  verdict.reason = "could not be started: " + error.text;
  if (const auto shortage = find_shortage({.start_errno = error.os_errno}, container_.facts({})))
    verdict.reason += "; " + shortage->text;
  record_end(exit, verdict);
  handle(state_ == GroupState::kRunning ? GroupEvent::kWorkerFailed : GroupEvent::kStartFailed);
  if (supervisor_.running() == 0) handle(GroupEvent::kWorkersGone);
}

// A worker that lost another one may end before it: that one's end is waited for, lest it be told
// to stop and look like a consequence.
void LocalGroup::worker_exited(WorkerExit exit) {
  output_->drain(exit.local_rank);
  if (context_.progress != nullptr) context_.progress->drain(exit.local_rank);
  const int key = terminal_ ? terminal_->ended(exit.status) : 0;
  const bool by_itself = exit.stop_signal == 0 && !exit.killed;
  // The terminal said it to the program alone. It counts as if it had been said to us all.
  if (key != 0 && by_itself && state_ == GroupState::kRunning && !ending_.is_saving()) {
    exit.stop_signal = key;
    callbacks_.interrupted(key);
    if (exit.status.signal != 0) signal_own_group(key);
  }
  const auto told = driver_.told_end(exit.local_rank);
  const Duration wait = driver_.needs().lost_peer_wait;
  const elastic::Classified verdict = judge(exit);
  const bool failed = verdict.failure_class != elastic::FailureClass::kSuccess;
  const bool follows = wait > Duration::zero() && failed &&
                       elastic::tells_of_lost_peer({.message = verdict.reason, .last_lines = {}});
  const bool last = supervisor_.running() == 0 && plan_->round().node_count == 1;
  if (follows && !last && state_ == GroupState::kRunning) {
    held_.lost.emplace_back([this, exit, verdict, told] { settle(exit, verdict, told); });
    if (!held_.timer.is_active()) held_.timer = doors_.loop.after(wait, [this] { settle_rest(); });
    return;
  }
  auto* const apart = state_ == GroupState::kRunning && by_itself ? driver_.apart() : nullptr;
  const WorkerEnd after =
      apart != nullptr ? apart->after(exit.local_rank, verdict) : WorkerEnd::kCounts;
  if (after != WorkerEnd::kCounts) {
    Kept& kept = held_.kept[exit.local_rank];
    kept.settle = [this, exit, verdict, told] { settle(exit, verdict, told); };
    if (failed) kept.failure = verdict.reason;
    if (after == WorkerEnd::kAsks) callbacks_.failed_alone(exit.local_rank, verdict.reason);
    return;
  }
  settle(exit, verdict, told);
  if (failed || last || held_.lost.empty()) settle_rest();
}

void LocalGroup::settle(const WorkerExit& exit, const elastic::Classified& verdict,
                        std::optional<TimePoint> told) {
  record_end(exit, verdict, told);
  // Who has saved does not end those that still do.
  const bool saved = verdict.failure_class == elastic::FailureClass::kStopped;
  if (saved && ending_.is_saving() && supervisor_.running() > 0) return;
  if (verdict.failure_class != elastic::FailureClass::kSuccess)
    return handle(GroupEvent::kWorkerFailed);
  handle(all_succeeded() ? GroupEvent::kAllSucceeded : GroupEvent::kWorkerSucceeded);
}

void LocalGroup::settle_rest() {
  held_.timer.reset();
  for (const auto& settle_one : std::exchange(held_.lost, {})) settle_one();
  if (supervisor_.running() > 0 || !held_.kept.empty() || all_succeeded()) return;
  // The last ones have saved, each by itself.
  if (state_ == GroupState::kRunning) handle(GroupEvent::kWorkerFailed);
  handle(GroupEvent::kWorkersGone);
}

// A worker may have ended in another way than its status says, which then is changed.
elastic::Classified LocalGroup::judge(WorkerExit& exit) {
  const bool by_itself = exit.stop_signal == 0 && !exit.killed;
  const auto verdict = driver_.ended(exit.local_rank, exit.status.success() && by_itself);
  if (verdict && verdict->exit_code == 0 && by_itself) {
    exit.status = {};
    return {elastic::FailureClass::kSuccess, verdict->reason};
  }
  std::optional<Shortage> shortage;
  if (by_itself && (verdict || !exit.status.success())) {
    const std::string last_words = join(output_->last_lines(exit.local_rank), "\n");
    shortage = find_shortage(
        {.status = exit.status, .aborted = verdict.has_value(), .last_words = last_words},
        container_.facts({".", "/tmp", context_.temp_dir, output_->log_dir()}));
  }
  if (verdict && verdict->exit_code != 0) {
    exit.status = {.code = verdict->exit_code};
    const std::string reason = verdict->reason + (shortage ? "; " + shortage->text : "");
    if (verdict->infrastructure) return {elastic::FailureClass::kInfrastructure, reason};
    return {elastic::FailureClass::kUserError, reason + " (user error)"};
  }
  elastic::Observation observation;
  observation.status = exit.status;
  observation.stop_signal = exit.stop_signal;
  observation.killed_by_agent = exit.killed;
  observation.is_launcher = plan_->has_launcher();
  observation.passed_on = exit.passed_on;
  observation.out_of_memory = shortage && shortage->of_memory;
  observation.shortage = shortage ? shortage->text : "";
  return elastic::classify(observation);
}

// `told`: when a worker said that it would end. Its process takes its time, and may be told to stop
// meanwhile because a peer that missed it ended sooner.
void LocalGroup::record_end(const WorkerExit& exit, const elastic::Classified& verdict,
                            std::optional<TimePoint> told) {
  const bool ends_by_itself = told && *told < ending_.asked() && !exit.killed;
  elastic::FailureRecord record;
  record.rank = plan_->has_launcher() ? elastic::kNoRank : plan_->rank_of(exit.local_rank);
  record.local_rank = exit.local_rank;
  record.node = context_.node;
  record.pid = exit.pid;
  record.status = exit.status;
  record.failure_class = verdict.failure_class;
  record.reason = launcher_ ? launcher_->name + ": " + verdict.reason : verdict.reason;
  record.noticed = doors_.loop.now();
  record.noticed_wall = doors_.clock.wall_now();
  record.alive = exit.alive;
  record.attempt = attempt_;
  record.told_to_stop = (exit.stop_signal != 0 || exit.killed) && !ends_by_itself;
  const bool failed = elastic::is_failure(verdict.failure_class);
  const bool stopped = verdict.failure_class == elastic::FailureClass::kStopped;
  if (failed || stopped) {
    const WorkerPaths paths = output_->paths(exit.local_rank);
    record.error_file = read_error_file(doors_.files, paths.error_file);
    record.last_lines = output_->last_lines(exit.local_rank);
    record.logs = paths.logs;
  }
  log_worker_exit(record, plan_->round().round);
  records_.push_back(std::move(record));
  if (failed) return callbacks_.failed(records_.back(), would_fail_again_);
  if (auto raised = elastic::raised_before_stop(records_.back())) {
    if (elastic::first_failure(records_) != nullptr) records_.back() = *raised;
    callbacks_.failed(*raised, false);
  }
}

bool LocalGroup::handle_signal(const ReceivedSignal& signal) {
  const SignalResponse response = respond_to(signal.number, context_.options.signals_to_handle,
                                             context_.setup.ignored_at_start);
  if (response != SignalResponse::kReap) {
    log::debug("signal.received", {{"signal", signal_name(signal.number)},
                                   {"sender_pid", signal.sender},
                                   {"response", to_string(response)}});
  }
  switch (response) {
    case SignalResponse::kReap:
      supervisor_.reap();
      if (terminal_) terminal_->look();
      return false;
    case SignalResponse::kStop:
      return true;
    case SignalResponse::kSuspend:
      supervisor_.forward_to_groups(SIGSTOP);
      // Everything stands still from here until SIGCONT, which is then in the signalfd.
      terminal_ ? terminal_->suspend() : suspend_self();
      return false;
    case SignalResponse::kResume:
      if (terminal_) terminal_->continued();
      supervisor_.forward_to_groups(SIGCONT);
      return false;
    case SignalResponse::kForward:
      supervisor_.forward(signal.number);
      return false;
    case SignalResponse::kIgnore:
      return false;
  }
  MUSTER_CHECK(false);
}

void LocalGroup::close(std::function<void()> done) {
  guardian_.dismiss();
  driver_.clean_up([this, done = std::move(done)]() mutable {
    output_->flush(kFlushDeadline, std::move(done));
  });
}

}  // namespace muster::launcher
