#include "launcher/agent.h"

#include <csignal>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "elastic/restart_policy.h"
#include "launcher/error_file.h"
#include "launcher/exit_codes.h"
#include "launcher/flags.h"
#include "launcher/outcome.h"
#include "launcher/signal_policy.h"

namespace muster::launcher {

namespace {

using elastic::GroupAction;
using elastic::GroupEvent;
using elastic::GroupState;

// The guardian protects against the agent's own sudden death; it is started a little later so that
// it does not compete with the workers for the CPUs at the moment that counts.
constexpr Duration kGuardianDelay = std::chrono::milliseconds(50);
// For the reader of our output to take what is left; after that it is counted as lost.
// torch's own switch (2.5 and newer): rank 0 serves the store, not the agent.
constexpr std::string_view kDisableSharingVariable = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";
constexpr Duration kFlushDeadline = std::chrono::seconds(5);

double random_fraction() {
  return std::uniform_real_distribution<double>(0, 1)(*std::make_unique<std::random_device>());
}

}  // namespace

Agent::Agent(AgentDoors doors, AgentContext context)
    : doors_(doors),
      context_(std::move(context)),
      supervisor_(doors_.loop, doors_.processes,
                  {[this](const WorkerExit& exit) { worker_exited(exit); },
                   [this](size_t) { handle(GroupEvent::kTreeGone); }}) {}

Status Agent::start() {
  const Options& options = context_.options;
  const bool hosted_by_worker =
      parse_boolean(context_.environment.get(kDisableSharingVariable).value_or("")) == true;
  auto store = JobStore::create(doors_.loop, doors_.network, options, hosted_by_worker);
  if (!store) return std::move(store).error();
  store_ = std::move(*store);
  auto plan = WorkerPlan::make(doors_.files, options, context_.environment, context_.setup,
                               context_.node, context_.token);
  if (!plan) return std::move(plan).error();
  plan_.emplace(std::move(*plan));
  auto output = Output::create(doors_.loop, doors_.files, doors_.console, plan_->output_options());
  if (!output) return std::move(output).error();
  output_ = std::move(*output);
  log::info("job.start", {{"run_id", options.run_id},
                          {"workers", plan_->local_world_size()},
                          {"max_restarts", options.max_restarts},
                          {"command", options.program}});
  for (const std::string& notice : plan_->notices()) log::info("job.notice", {{"text", notice}});
  handle(GroupEvent::kStart);
  return {};
}

void Agent::handle(GroupEvent event) {
  const auto& row = elastic::transition(state_, event);
  log::debug("group.transition", {{"state", elastic::to_string(state_)},
                                  {"event", elastic::to_string(event)},
                                  {"next", elastic::to_string(row.next)},
                                  {"action", elastic::to_string(row.action)}});
  state_ = row.next;
  perform(row.action);
}

void Agent::perform(GroupAction action) {
  switch (action) {
    case GroupAction::kNothing:
      return;
    case GroupAction::kSpawn:
      return start_attempt();
    case GroupAction::kTerminate:
      return terminate();
    case GroupAction::kSweep:
      grace_timer_.reset();
      return supervisor_.sweep();
    case GroupAction::kDecide:
      return decide();
    case GroupAction::kWait:
      return;  // decide() knows for how long and has armed the timer
    case GroupAction::kFinish:
      return finish();
    case GroupAction::kBug:
      MUSTER_CHECK(!"a transition that cannot happen");
  }
}

void Agent::start_attempt() {
  records_.clear();
  succeeded_ = 0;
  would_fail_again_ = false;
  if (const Status prepared = prepare_attempt(); !prepared)
    return start_failed(0, prepared.error());
  for (int local_rank = 0; local_rank < plan_->local_world_size(); ++local_rank) {
    const auto pid = start_worker(local_rank);
    if (!pid) return start_failed(local_rank, pid.error());
    log::debug("worker.start",
               {{"rank", plan_->rank_of(local_rank)}, {"pid", *pid}, {"attempt", attempt_}});
  }
  handle(GroupEvent::kAllStarted);
  if (!memory_events_) memory_events_.emplace(doors_.files);
  oom_kills_at_start_ = memory_events_->oom_kills();
  start_guardian();
}

Status Agent::prepare_attempt() {
  auto master = store_->begin_attempt();
  if (!master) return std::move(master).error();
  master_ = std::move(*master);
  return output_->open_attempt(attempt_, plan_->labels());
}

Result<pid_t> Agent::start_worker(int local_rank) {
  auto request = plan_->request(local_rank, {attempt_, master_}, output_->child_streams(local_rank),
                                output_->error_file(local_rank));
  if (!request) return std::move(request).error();
  auto pid = supervisor_.start(local_rank, *request);
  if (pid) output_->child_started(local_rank);
  return pid;
}

// One worker could not be started, or nothing could be prepared for any of them (then local rank 0
// stands for all).
void Agent::start_failed(int local_rank, const Error& error) {
  elastic::Observation observation;
  observation.spawn_errno = error.os_errno != 0 ? error.os_errno : EINVAL;
  would_fail_again_ = elastic::same_start_fails(observation.spawn_errno);
  WorkerExit exit;
  exit.local_rank = local_rank;
  exit.status.code = start_failure_code(observation.spawn_errno);
  elastic::Classified verdict = elastic::classify(observation);
  verdict.reason = "could not be started: " + error.text;
  record_end(exit, verdict);
  handle(GroupEvent::kStartFailed);
  if (supervisor_.running() == 0) handle(GroupEvent::kWorkersGone);
}

void Agent::worker_exited(const WorkerExit& exit) {
  output_->drain(exit.local_rank);
  elastic::Observation observation;
  observation.status = exit.status;
  observation.stop_signal = exit.stop_signal;
  observation.killed_by_agent = exit.killed;
  observation.out_of_memory = exit.status.signal == SIGKILL && memory_events_ &&
                              oom_kills_rose(oom_kills_at_start_, memory_events_->oom_kills());
  const elastic::Classified verdict = elastic::classify(observation);
  record_end(exit, verdict);
  if (verdict.failure_class == elastic::FailureClass::kSuccess) {
    ++succeeded_;
    handle(all_succeeded() ? GroupEvent::kAllSucceeded : GroupEvent::kWorkerSucceeded);
  } else {
    handle(GroupEvent::kWorkerFailed);
  }
  if (supervisor_.running() == 0 && !all_succeeded()) handle(GroupEvent::kWorkersGone);
}

void Agent::record_end(const WorkerExit& exit, const elastic::Classified& verdict) {
  elastic::FailureRecord record;
  record.rank = plan_->rank_of(exit.local_rank);
  record.local_rank = exit.local_rank;
  record.node = context_.node;
  record.pid = exit.pid;
  record.status = exit.status;
  record.failure_class = verdict.failure_class;
  record.reason = verdict.reason;
  record.noticed = doors_.loop.now();
  record.noticed_wall = doors_.clock.wall_now();
  record.alive = exit.alive;
  record.attempt = attempt_;
  if (elastic::is_failure(verdict.failure_class)) {
    record.error_file = read_error_file(doors_.files, output_->error_file(exit.local_rank));
    record.last_lines = output_->last_lines(exit.local_rank);
  }
  log_worker_exit(record);
  records_.push_back(std::move(record));
}

void Agent::terminate() {
  supervisor_.terminate(stop_signal_ != 0 ? stop_signal_ : SIGTERM);
  grace_timer_ = doors_.loop.after(context_.options.grace_period, [this] {
    log::warning("group.grace_over", {{"grace_s", to_seconds(context_.options.grace_period)},
                                      {"workers", supervisor_.running()},
                                      {"action", "killing them"}});
    handle(GroupEvent::kGraceOver);
  });
}

void Agent::decide() {
  output_->close_attempt();
  const elastic::RestartDecision decision = elastic::decide_restart(
      {attempt_, would_fail_again_},
      {context_.options.max_restarts, context_.options.restart_backoff}, random_fraction());
  verdict_ = decision.reason;
  if (!decision.restart) return handle(GroupEvent::kRestartRefused);
  const elastic::FailureRecord* first = elastic::first_failure(records_);
  log::warning(
      "attempt.restart",
      {{"first_failure",
        first != nullptr ? "rank " + std::to_string(first->rank) + ": " + first->reason : "none"},
       {"decision", decision.reason}});
  ++attempt_;
  handle(GroupEvent::kRestartGranted);
  if (decision.delay == Duration::zero()) return handle(GroupEvent::kBackoffOver);
  backoff_timer_ = doors_.loop.after(decision.delay, [this] { handle(GroupEvent::kBackoffOver); });
}

void Agent::finish() {
  backoff_timer_.reset();
  guardian_timer_.reset();
  output_->close_attempt();
  RunReport report;
  report.entry_point = plan_->entry_point();
  report.records = records_;
  report.world_size = plan_->world_size();
  report.max_restarts = context_.options.max_restarts;
  report.verdict = verdict_;
  report.log_dir = output_->log_dir();
  report.stop_signal = stop_signal_;
  const int code = conclude(report, all_succeeded(), context_.options, context_.environment,
                            doors_.files, doors_.console);
  if (guardian_) guardian_->dismiss();
  output_->flush(kFlushDeadline, [this, code] { finished_(code); });
}

void Agent::handle_signal(const ReceivedSignal& signal) {
  const SignalResponse response = respond_to(signal.number, context_.options.signals_to_handle,
                                             context_.setup.ignored_at_start);
  if (response != SignalResponse::kReap) {
    log::debug("signal.received", {{"signal", signal_name(signal.number)},
                                   {"sender_pid", signal.sender},
                                   {"response", to_string(response)}});
  }
  switch (response) {
    case SignalResponse::kReap:
      return supervisor_.reap();
    case SignalResponse::kStop:
      return request_stop(signal);
    case SignalResponse::kSuspend:
      supervisor_.forward_to_groups(SIGSTOP);
      // Everything stands still from here until SIGCONT, which is then in the signalfd.
      suspend_self();
      return;
    case SignalResponse::kResume:
      return supervisor_.forward_to_groups(SIGCONT);
    case SignalResponse::kForward:
      return supervisor_.forward(signal.number);
    case SignalResponse::kIgnore:
      return;
  }
}

void Agent::request_stop(const ReceivedSignal& signal) {
  const bool repeated = stop_signal_ != 0;
  if (repeated && doors_.loop.now() - stop_requested_ < kSameStopWithin) return;
  log::info("job.stop", {{"signal", signal_name(signal.number)},
                         {"sender_pid", signal.sender},
                         {"grace_s", repeated ? 0.0 : to_seconds(context_.options.grace_period)}});
  if (!repeated) {
    stop_signal_ = signal.number;
    stop_requested_ = doors_.loop.now();
  }
  // A stopped process takes no signal but SIGKILL; it would sit out the whole grace period.
  supervisor_.forward_to_groups(SIGCONT);
  handle(GroupEvent::kShutdown);
}

void Agent::start_guardian() {
  if (context_.is_pid_one || guardian_) return;
  guardian_timer_ = doors_.loop.after(kGuardianDelay, [this] {
    auto guardian = Guardian::start(doors_.processes, context_.setup, context_.token);
    if (!guardian) {
      log::warning("guardian.failed",
                   {{"error", guardian.error().text},
                    {"action", "going on; if the agent is killed, children of workers live on"}});
      return;
    }
    supervisor_.spare(guardian->pid());
    guardian_.emplace(std::move(*guardian));
  });
}

}  // namespace muster::launcher
