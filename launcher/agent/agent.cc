#include "launcher/agent/agent.h"

#include <csignal>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "base/process/descriptor_budget.h"
#include "base/process/signal_policy.h"
#include "base/text.h"
#include "elastic/preemption.h"
#include "elastic/root_cause.h"
#include "launcher/agent/serving/status_answer.h"
#include "launcher/frameworks/mpi_program.h"
#include "launcher/frameworks/pytorch.h"
#include "launcher/options/job_setup.h"
#include "launcher/progress/progress_watch.h"
#include "launcher/report/failure_report.h"
#include "launcher/report/outcome.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

void log_stop(int signal, pid_t sender, Duration grace) {
  log::info(
      "job.stop",
      {{"signal", signal_name(signal)}, {"sender_pid", sender}, {"grace_s", to_seconds(grace)}});
}

}  // namespace

Agent::Agent(AgentDoors doors, AgentContext context, std::unique_ptr<FrameworkDriver> driver)
    : doors_(doors),
      context_(std::move(context)),
      driver_(std::move(driver)),
      group_(doors_, context_, *driver_, group_callbacks()),
      policy_(round_policy_options(context_.options), random_number(context_.token)),
      health_(doors_, context_) {}

LocalGroupCallbacks Agent::group_callbacks() {
  return {
      .round = [this] { return next_round(); },
      .started = [this] { timeline().runs(); },
      .failed = [this](const elastic::FailureRecord& record, bool) { timeline().failed(record); },
      .failed_alone =
          [this](int local_rank, const std::string&) {
            const auto verdict = policy_.after_lone_failure(doors_.loop.now());
            group_.resolve(local_rank,
                           verdict.restart ? std::optional(verdict.delay) : std::nullopt,
                           verdict.reason);
          },
      .decide = [this] { decide(); },
      .saved = [] {},  // the launcher runs here, and ends after its ranks
      .interrupted = [this](int signal) { note_stop(signal, 0); },
      .finished = [this] { driver_->group_ended(group_.all_succeeded(), [this] { finish(); }); }};
}

// There is no other node, and no leader who decides about another round.
DriverHost Agent::driver_host() {
  return {.doors = doors_,
          .context = context_,
          .job = job_,
          .own_host = store_->address().host,
          .tls = nullptr,
          .serve = [this](rendezvous::Protocol protocol,
                          auto handler) { store_->serve(protocol, std::move(handler)); },
          .serve_workers =
              [this](rendezvous::Protocol protocol, auto handler, auto clients) {
                store_->serve_workers(protocol, std::move(handler), std::move(clients));
              },
          .prepared = [](const Status&) {},
          .failed =
              [this](const elastic::FailureRecord& record) {
                if (!end_words_.failure) end_words_.failure = record;
              },
          .decided = [](const rendezvous::JobDecision&) {},
          .idle = [this] { group_.served_all(); },
          .ranks_gone = [this] { group_.ranks_gone(); },
          .exchange = {},
          .nodes = [] { return std::vector<rendezvous::RosterEntry>{}; },
          .hosts_changed = [](int) {},
          .log_dir = [this] { return group_.log_dir(); },
          .network = [this] { return group_.plan().network_variables(); },
          .workers = [this] { return group_.plan().local_world_size(); },
          .process_of = [this](int local_rank) { return group_.pid_of(local_rank); },
          .kill = [this](int local_rank) { group_.kill(local_rank); },
          .resolve =
              [this](int local_rank, bool again) {
                group_.resolve(local_rank, again ? std::optional(Duration::zero()) : std::nullopt);
              },
          .signal = [this](int signal) { group_.notify(signal); },
          .end_workers = [this](Duration grace) { group_.stop(SIGTERM, grace); }};
}

Result<rendezvous::Assign> Agent::next_round() {
  timeline().spawns();
  auto master = store_->begin_attempt();
  if (!master) return std::move(master).error();
  rendezvous::Assign round = group_.plan().alone();
  round.round = static_cast<uint64_t>(group_.attempt()) + 1;  // as the status says
  round.master_host = master->host;
  round.master_port = master->port;
  rendezvous::RosterEntry self;
  self.identity.name = context_.node;
  self.identity.incarnation = random_number(context_.token);
  self.host = master->host;
  self.port = master->port;
  self.workers = group_.plan().local_world_size();
  self.note = driver_->card();
  round.roster = {std::move(self)};
  return round;
}

Status Agent::start() {
  started_ = doors_.loop.now();
  if (context_.progress != nullptr) {
    context_.progress->on_moved([this](int64_t step) {
      policy_.progressed(doors_.loop.now(), step);
      timeline().moved();
    });
  }
  timeline().gathers();
  const Options& options = context_.options;
  auto store = JobStore::create(doors_.loop, doors_.network, options,
                                worker_hosts_store(options, context_.environment));
  if (!store) return std::move(store).error();
  store_ = std::move(*store);
  for (const auto protocol : {rendezvous::Protocol::kControl, rendezvous::Protocol::kTls}) {
    store_->serve(protocol, [this](Arrival arrival) { adopt_control(std::move(arrival)); });
  }
  MUSTER_RETURN_IF_ERROR(driver_->start(driver_host()));
  MUSTER_RETURN_IF_ERROR(group_.open());
  log::info("job.start", {{"run_id", options.run_id},
                          {"port", store_->address().to_string()},
                          {"workers", group_.plan().local_world_size()},
                          {"max_restarts", options.max_restarts},
                          {"leads", true},  // it speaks for the job (launcher/sidecar)
                          {"command", group_.plan().command_line()},
                          {"notes", join(group_.plan().notices(), "; ")}});
  warn_of_few_descriptors(context_.setup.fd_limit, group_.plan().local_world_size(),
                          group_.plan().local_world_size());
  when_fit([this] { group_.start(0); });
  warn_of_mpi_program(doors_.files, options, group_.plan().command().program,
                      group_.plan().local_world_size());
  return {};
}

// Somebody asks for the status; nobody else of this protocol has business here.
void Agent::adopt_control(Arrival arrival) {
  if (!desk_) {
    if (const Status opened = open_desk(); !opened) {
      return log::warning("status.refused",
                          {{"error", opened.error().text}, {"action", "going on without"}});
    }
  }
  desk_->adopt(std::move(arrival));
}

// Not at the start: reading the secret and making keys costs more than a worker's start.
Status Agent::open_desk() {
  auto tls = rendezvous::tls_from_secret(context_.environment, doors_.files);
  if (!tls) return std::move(tls).error();
  tls_ = std::move(*tls);
  job_.run_id = context_.options.run_id;
  job_.secured = tls_ != nullptr;
  const auto answer = [this](const rendezvous::Hello& hello) -> rendezvous::Message {
    if (auto refused = rendezvous::refusal(job_, hello)) return std::move(*refused);
    return rendezvous::Refuse{rendezvous::RefuseCode::kClosed, "this job has one node", 0, {}};
  };
  desk_ = std::make_unique<LeaderHost>(
      doors_.loop, doors_.network,
      LeaderHostSetup{.options = job_,
                      .policy = {},
                      .tls = tls_.get(),
                      .answer = answer,
                      .status = [this] { return facts().status(); },
                      .job = [this] { return context_.job; },
                      .command = [this](const auto& command,
                                        const std::string& by) { return obey(command, by); },
                      .changed = [] {},
                      .first = {},
                      .may_lead = {},
                      .listed = {},
                      .resolver = doors_.resolver});
  return {};
}

NodeFacts Agent::facts() const {
  const auto status = [this] {
    const std::string progress = context_.progress != nullptr ? context_.progress->json() : "";
    const std::string history = context_.timeline != nullptr ? context_.timeline->json() : "";
    return single_node_status({.run_id = context_.options.run_id,
                               .job = context_.job,
                               .node = context_.node,
                               .address = store_->address(),
                               .workers = group_.plan().local_world_size(),
                               .attempt = group_.attempt(),
                               .restarts_used = policy_.used(doors_.loop.now()),
                               .max_restarts = context_.options.max_restarts,
                               .state = group_.state(),
                               .verdict = end_words_.restart,
                               .progress = progress,
                               .history = history});
  };
  return {.status = status,
          .leads = true,
          .stops = stop_.signal != 0 || group_.state() == elastic::GroupState::kFinished,
          .workers = worker_processes(group_)};
}

SingleTimeline Agent::timeline() const {
  return {context_.timeline, doors_.loop.now(), static_cast<uint64_t>(group_.attempt()) + 1};
}

// `muster stop` and `muster restart`.
Status Agent::obey(const rendezvous::JobCommand& command, const std::string& by) {
  const bool stops = command.kind == rendezvous::JobCommandKind::kStop;
  if (stop_.signal != 0)
    return stops ? Status{} : Error{Code::kPeer, 0, "the job is told to end already"};
  if (!stops && group_.state() != elastic::GroupState::kRunning) {
    return Error{Code::kPeer, 0, "no attempt runs that could end: another one is on its way"};
  }
  std::string text = "asked for by '" + by + "'";
  if (!command.reason.empty()) text += ": " + command.reason;
  log::info("job.asked", {{"reason", (stops ? "the end, " : "a restart, ") + text}});
  if (stops) {
    // The answer leaves first.
    save_timer_ = doors_.loop.soon([this] { request_stop({SIGTERM, 0}); });
    return {};
  }
  end_words_.asked = "a restart was " + text;
  timeline().asked(end_words_.asked);
  group_.stop(SIGTERM, context_.options.grace_period, /*again=*/true);
  return {};
}

// Once for each attempt that failed.
rendezvous::RestartVerdict Agent::judge(const elastic::FailureRecord& first) {
  const TimePoint now = doors_.loop.now();
  const rendezvous::Failure failure = to_wire(first, now, group_.would_fail_again());
  rendezvous::RestartVerdict verdict = policy_.after_failures(now, {&failure, 1});
  end_words_.restart = verdict.reason;
  return verdict;
}

void Agent::decide() {
  // They saved and ended; or the driver has told why the job ends.
  timeline().gathers();
  if (stop_.signal != 0 || end_words_.failure) return group_.restart({});
  if (!end_words_.asked.empty()) {
    end_words_.restart = std::exchange(end_words_.asked, {});
    log::info("attempt.restart", {{"decision", end_words_.restart}, {"attempt", group_.attempt()}});
    return when_fit([this] { group_.restart(Duration::zero()); });
  }
  const elastic::FailureRecord* first = elastic::first_failure(group_.records());
  MUSTER_CHECK(first != nullptr);
  const rendezvous::RestartVerdict verdict = judge(*first);
  if (!verdict.restart) return group_.restart({});
  log::warning("attempt.restart",
               {{"first_failure", "rank " + std::to_string(first->rank) + ": " + first->reason},
                {"decision", verdict.reason},
                {"attempt", group_.attempt()}});
  when_fit([this, delay = verdict.delay] { group_.restart(delay); });
}

// There is no other node to take the place of this one: the job ends, for whoever may start it
// elsewhere. It may have ended before that is known.
void Agent::when_fit(std::function<void()> begin) {
  rendezvous::Assign round = group_.plan().alone();
  round.checks = context_.options.health_checks;
  health_.begin(round, group_.plan().local_world_size(),
                [this, begin = std::move(begin)](const HealthVerdict& verdict) {
                  if (!verdict.has_fault) return begin();
                  end_words_.unfit = "this node is not fit: " + verdict.unfit.front().reason;
                  end_words_.restart = end_words_.unfit;
                  end_workers(SIGTERM, Duration::zero());
                });
}

// Also before the first of them.
void Agent::end_workers(int signal, Duration grace) {
  health_.cancel();
  timeline().ends();
  if (group_.state() != elastic::GroupState::kIdle) return group_.stop(signal, grace);
  driver_->group_ended(false, [this] { finish(); });
}

// As on several nodes: a failure after which another attempt follows has not ended the job.
bool Agent::has_failed() {
  const elastic::GroupState state = group_.state();
  if (state == elastic::GroupState::kDeciding || state == elastic::GroupState::kBackoff)
    return false;
  if (!end_words_.asked.empty()) return false;  // what fails follows from that
  const elastic::FailureRecord* first = elastic::first_failure(group_.records());
  return first != nullptr && !judge(*first).restart;
}

void Agent::finish() {
  save_timer_.reset();
  health_.cancel();
  timeline().ends();
  RunReport report;
  report.entry_point = group_.plan().entry_point();
  report.records = group_.records();
  if (end_words_.failure) report.records.insert(report.records.begin(), *end_words_.failure);
  report.world_size = group_.plan().round().world_size;
  report.max_restarts = context_.options.max_restarts;
  report.verdict = end_words_.restart;
  report.log_dir = group_.log_dir();
  report.first_rank = 0;
  if (!stop_.had_failed) report.stop_signal = stop_.signal;
  if (!end_words_.unfit.empty()) {
    report.end_reason = end_words_.unfit;
    report.end_code = kExitRetry;
  }
  const bool ended_by_us = end_words_.failure || !end_words_.unfit.empty();
  const bool has_run = group_.state() != elastic::GroupState::kIdle;
  const bool success = has_run && driver_->succeeded(group_.all_succeeded()) && !ended_by_us;
  if (success) {
    report.end_reason =
        group_.all_succeeded() ? "every worker succeeded" : "the worker that decides succeeded";
  }
  report.lasted = doors_.loop.now() - started_;
  report.attempts = has_run ? group_.attempt() + 1 : 0;
  const int code = conclude(report, success, context_.options, context_.environment, doors_.files,
                            doors_.console);
  group_.close([this, code] { finished_(code); });
}

void Agent::handle_signal(const ReceivedSignal& signal) {
  if (group_.handle_signal(signal)) request_stop(signal);
}

void Agent::request_stop(const ReceivedSignal& signal) {
  const bool repeated = stop_.signal != 0;
  if (repeated && doors_.loop.now() - stop_.when < kSameStopWithin) return;
  if (repeated) {
    log_stop(signal.number, signal.sender, Duration::zero());
    return group_.kill();
  }
  note_stop(signal.number, signal.sender);
  save_and_stop(context_.options.grace_period);
}

// `sender` 0: a key.
void Agent::note_stop(int signal, pid_t sender) {
  log_stop(signal, sender, context_.options.grace_period);
  stop_.signal = signal;
  stop_.had_failed = has_failed();
  stop_.when = doors_.loop.now();
}

// With a signal of their own the workers save first: for half of the time, as on several nodes.
void Agent::save_and_stop(Duration grace) {
  const int save = context_.options.nodes.preempt_signal.value_or(stop_.signal);
  const bool runs = group_.state() == elastic::GroupState::kRunning;
  if (save == stop_.signal || !runs) return end_workers(stop_.signal, grace);
  const auto plan = elastic::plan_preemption({.signal = save}, true, grace, context_.node);
  log::info("round.save", {{"reason", plan.reason}});
  if (plan.signal != 0) group_.notify(plan.signal);
  save_timer_ =
      doors_.loop.after(grace / 2, [this, grace] { group_.stop(stop_.signal, grace / 2); });
}

}  // namespace muster::launcher
