#include "launcher/agent/node_agent.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "base/log.h"
#include "base/process/descriptor_budget.h"
#include "base/process/signal_policy.h"
#include "base/text.h"
#include "elastic/preemption.h"
#include "elastic/root_cause.h"
#include "launcher/options/job_setup.h"
#include "launcher/report/exit_codes.h"
#include "launcher/report/outcome.h"

namespace muster::launcher {

namespace {

namespace member_output = rendezvous::member_output;

// For the others to hear how the job ended, when this node was told to go.
constexpr Duration kHurry = std::chrono::seconds(1);
// Beyond the lease that a leader lingers, for its last words to leave.
constexpr Duration kLeaveSlack = std::chrono::seconds(5);

// Our own record of it, if it was here, has more than `first`, which travelled. What watches a
// launcher tells of failures of which the launcher itself knows nothing; its last lines may help.
void put_first(elastic::FailureRecord first, const std::string& node, RunReport& report) {
  // A node that was not in the attempt that failed still has those of an earlier one.
  std::erase_if(report.records,
                [&first](const auto& record) { return record.attempt != first.attempt; });
  const auto own =
      std::find_if(report.records.begin(), report.records.end(), [&first](const auto& record) {
        return record.rank == first.rank && record.node == first.node &&
               (first.rank != elastic::kNoRank || record.reason == first.reason) &&
               elastic::is_failure(record.failure_class);
      });
  report.first_is_known = true;
  if (own != report.records.end()) return (void)std::rotate(report.records.begin(), own, own + 1);
  report.elsewhere = first.node != node;
  // What ranks print comes out of what started them.
  const bool through_launcher =
      !report.records.empty() && report.records.back().rank == elastic::kNoRank;
  if (first.last_lines.empty() && through_launcher) {
    first.last_lines = report.records.back().last_lines;
    first.logs = report.records.back().logs;
  }
  report.records.insert(report.records.begin(), std::move(first));
}

// That the leader has made, unless the controller or the user has one.
void take_job_name(const std::string& made, AgentContext& context) {
  const std::string was = context.job;
  if (made.empty() || was != context.options.run_id) return;
  context.job = made;
  if (context.renamed) context.renamed(made, context.node);
  log::record(log::Level::kInfo, "job.named", {{"was", was}});
}

}  // namespace

NodeAgent::NodeAgent(AgentDoors doors, AgentContext context,
                     std::unique_ptr<FrameworkDriver> driver)
    : doors_(doors),
      context_(std::move(context)),
      candidates_(doors_.loop, doors_.resolver, doors_.files, context_.options, job_,
                  driver->needs()),
      driver_(std::move(driver)),
      network_(doors_.resolver),
      health_(doors_, context_),
      group_(doors_, context_, *driver_, group_callbacks()),
      probes_(doors_.loop, doors_.network,
              [this](rendezvous::DialId dial, rendezvous::DialResult result) {
                member_->on_dialed(doors_.loop.now(), dial, result);
                wake();
              }) {}

LocalGroupCallbacks NodeAgent::group_callbacks() {
  return {
      .round = [this]() -> Result<rendezvous::Assign> { return assign_; },
      .network = [this] { return network_.found(); },
      .started =
          [this] {
            member_->on_started(doors_.loop.now(), assign_.round);
            wake();
          },
      .failed =
          [this](const elastic::FailureRecord& record, bool would_fail_again) {
            if (!driver_->hold(record)) worker_failed(record, would_fail_again);
          },
      .failed_alone =
          [this](int local_rank, const std::string& failure) {
            const int rank = assign_.rank_offset + local_rank;
            member_->on_word(doors_.loop.now(), assign_.round, rendezvous::LoneEnd{rank, failure});
            wake();
          },
      .decide = [this] { group_.restart({}); },
      .saved =
          [this] {
            member_->on_saved(doors_.loop.now(), assign_.round);
            wake();
          },
      .finished =
          [this] { driver_->group_ended(group_.all_succeeded(), [this] { group_settled(); }); }};
}

// ---- rounds: what the member says about the workers, and what it is told of them

void NodeAgent::wake() {
  turn_ = doors_.loop.soon([this] { turn(); });
}

// Who was frozen may find its leader's or its election's time over before its own: its workers end
// before either acts. What is in order waits for its turn.
void NodeAgent::lease_first() {
  const auto due = member_->next_deadline();
  const bool late = due && *due <= doors_.loop.now();
  const bool ends = member_->state() == rendezvous::MemberState::kStopping;
  if (!outcome_ && (late || ends)) turn();
}

// One turn for all that happened; a timer, because it ends with this object. Nothing happens before
// the others can be told how to call this node: driver_prepared() wakes it then.
void NodeAgent::turn() {
  if (driver_->is_preparing()) return;
  // It could not be prepared: nobody was joined, and nobody waits for this node's last words.
  if (outcome_ && member_->state() != rendezvous::MemberState::kExiting) return leave_when_told();
  links_->sweep();
  probes_.sweep();
  member_->on_tick(doors_.loop.now());
  use_new_list();  // before this node leads once more
  for (auto outputs = member_->take_outputs(); !outputs.empty();
       outputs = member_->take_outputs()) {
    for (const auto& output : outputs) perform(output);
  }
  if (etcd_) etcd_->settle(leader_host_->leading(), leader_host_->job_over());
  driver_->follow(member_->state() != rendezvous::MemberState::kSeeking);
  if (outcome_) return leave_when_told();
  seek();
  if (const auto next = member_->next_deadline(); next && !turn_.is_active()) {
    turn_ = doors_.loop.at(*next, [this] { turn(); });
  }
}

void NodeAgent::perform(const rendezvous::MemberOutput& output) {
  if (const auto* dialled = std::get_if<member_output::Dial>(&output)) {
    dial(dialled->candidate);
  } else if (const auto* call = std::get_if<rendezvous::NodeDial>(&output)) {
    probes_.dial(*call);
  } else if (const auto* closed = std::get_if<member_output::CloseLink>(&output)) {
    links_->close(closed->candidate, "not the leader of this node");
  } else if (const auto* sent = std::get_if<member_output::Send>(&output)) {
    links_->send(sent->candidate, sent->message);
  } else if (const auto* others = std::get_if<member_output::TakeLeaders>(&output)) {
    take_leaders(others->leaders);
  } else if (const auto* lead = std::get_if<member_output::BecomeLeader>(&output)) {
    leader_host_->lead(lead->seed);
  } else if (const auto* told = std::get_if<member_output::TellLeader>(&output)) {
    leader_host_->told(told->answers);
  } else if (const auto* stop = std::get_if<member_output::StopLeading>(&output)) {
    leader_host_->stop(stop->reason);
  } else if (const auto* line = std::get_if<member_output::Log>(&output)) {
    // Once the outcome is told nothing that the member meets is news.
    log::write(exit_code_ ? log::Level::kDebug : line->level, line->event,
               {{"reason", line->reason}});
  } else if (const auto* exit = std::get_if<member_output::Exit>(&output)) {
    outcome_ = exit->outcome;
    // Nobody was dialled: what this node was told of itself is wrong, not the others.
    if (const std::string& wrong = links_->own_host().problem();
        !wrong.empty() && !outcome_->preempted) {
      outcome_->exit_code = kExitConfig;
      outcome_->reason = wrong;
    }
    if (outcome_->exit_code == kExitUnavailable) outcome_->reason += rank_note();
  } else {
    perform_round(output);
  }
}

void NodeAgent::perform_round(const rendezvous::MemberOutput& output) {
  if (const auto* prepare = std::get_if<member_output::PrepareRound>(&output)) {
    prepare_round(prepare->assign);
  } else if (std::holds_alternative<member_output::StartWorkers>(output)) {
    words_ = {};
    group_.start(assign_.attempt);
  } else if (const auto* stop = std::get_if<member_output::StopWorkers>(&output)) {
    stop_workers(stop->round, stop->grace, stop->reason);
  } else if (const auto* kill = std::get_if<member_output::KillWorkers>(&output)) {
    stop_workers(kill->round, Duration::zero(), kill->reason);
    group_.kill();
  } else if (const auto* notice = std::get_if<member_output::NotifyWorkers>(&output)) {
    tell_to_save(*notice);
  } else if (const auto* all = std::get_if<member_output::ExchangeDone>(&output)) {
    if (all->round == assign_.round) driver_->exchanged(all->sequence, all->contributions);
  } else if (const auto* alone = std::get_if<member_output::RestartAlone>(&output)) {
    if (alone->failed.round != assign_.round) return;
    const auto pause = std::chrono::milliseconds(alone->verdict.delay_ms);
    group_.resolve(alone->failed.rank - assign_.rank_offset,
                   alone->verdict.restart ? std::optional<Duration>(pause) : std::nullopt,
                   alone->verdict.reason);
  }
}

void NodeAgent::prepare_round(const rendezvous::Assign& assign) {
  assign_ = assign;
  take_job_name(assign.job, context_);
  health_.cancel();
  told_list_.clear();  // what was told before is over
  // Where the leader is, its line about the round says all of that but the ranks.
  const bool leads = assign.node_rank == assign.leader_rank;
  const std::initializer_list<log::Field> fields = {
      {"round", assign.round},
      {"attempt", assign.attempt},
      {"node_rank", assign.node_rank},
      {"nodes", assign.node_count},
      {"leads", leads},
      {"first_rank", assign.rank_offset},
      {"world_size", assign.world_size},
      {"store", assign.master_host + ":" + std::to_string(assign.master_port)}};
  log::write(leads ? log::Level::kDebug : log::Level::kInfo, "round.start", fields);
  if (leads) log::record(log::Level::kInfo, "round.start", fields);  // for programs, numbers
  if (assign.node_rank == 0) {
    warn_of_few_descriptors(context_.setup.fd_limit, group_.plan().local_world_size(),
                            assign.world_size);
    std::set<std::string> hosts;
    for (const auto& member : assign.roster) hosts.insert(member.host);
    store_->set_members(std::move(hosts));
    // Fails only where a worker hosts the store, which start() has refused.
    (void)store_->begin_attempt();
  }
  // Its own name may mean loopback to it where it listens there, too.
  const bool everywhere = listen_host_ == "::";
  network_.find(assign, {candidates_.current(), everywhere ? links_->own() : std::nullopt});
  driver_->prepare_round(assign, [this, round = assign.round] {
    network_.when_found([this, round] {
      // It may have been stopped, or be another one by now.
      const bool is_awaited = member_->state() == rendezvous::MemberState::kChecking;
      if (round != assign_.round || !is_awaited) return;
      health_.begin(assign_, group_.plan().local_world_size(),
                    [this](const HealthVerdict& verdict) { health_checked(verdict); });
    });
  });
}

// The last step before the workers. If another node names who is not fit, the leader's word comes.
void NodeAgent::health_checked(const HealthVerdict& verdict) {
  const TimePoint now = doors_.loop.now();
  const uint64_t round = assign_.round;
  if (!verdict.has_fault) {
    member_->on_prepared(now, round);
  } else if (!verdict.unfit.empty()) {
    std::vector<rendezvous::Failure> records;
    for (const auto& unfit : verdict.unfit) records.push_back(unfit_record(unfit, context_.node));
    member_->on_failed(now, round, std::move(records));
    driver_->round_over();
    store_->hold();
    member_->on_gone(now, round);
  }
  wake();
}

void NodeAgent::stop_workers(uint64_t round, Duration grace, const std::string& reason) {
  words_.stop = true;
  log::info("round.stop", {{"round", round}, {"grace_s", to_seconds(grace)}, {"reason", reason}});
  // With workers, what other nodes run here ends when they are swept.
  if (group_.alive()) return group_.stop(SIGTERM, grace);
  health_.cancel();
  driver_->round_over();
  store_->hold();
  member_->on_gone(doors_.loop.now(), round);
}

// One node is told to go: workers save while the round still runs.
void NodeAgent::tell_to_save(const rendezvous::member_output::NotifyWorkers& notice) {
  const auto& nodes = context_.options.nodes;
  const int came = stop_.signal != 0 ? stop_.signal : SIGTERM;
  const auto plan =
      elastic::plan_preemption({nodes.preempt_signal.value_or(came), job_.preempt_notify_all},
                               notice.leaver_is_self, notice.grace, notice.leaver);
  log::info("round.save", {{"round", notice.round}, {"reason", plan.reason}});
  if (plan.signal == 0) return;
  const bool alive = group_.alive();
  if (alive) {
    words_.stop = true;
    words_.save = stop_.signal == 0;  // a node that goes itself says when its workers have ended
  }
  if (!alive || !group_.notify(plan.signal)) member_->on_saved(doors_.loop.now(), notice.round);
}

void NodeAgent::driver_prepared(const Status& status) {
  if (status) {
    member_->set_note_for_peers(driver_->card());
  } else {
    outcome_.emplace();
    outcome_->exit_code = exit_code_of_error(Personality::kMuster, status.error());
    outcome_->reason = status.error().text;
  }
  wake();
}

void NodeAgent::worker_failed(const elastic::FailureRecord& record, bool would_fail_again) {
  // How a worker ends that was told to end is no failure of the job, but may explain the one for
  // which it was told.
  if (words_.stop && !elastic::explains_stop(record)) return;
  words_.failure = words_.failure || !words_.stop;
  const TimePoint now = doors_.loop.now();
  member_->on_failed(now, assign_.round, {elastic::to_wire(record, now, would_fail_again)});
  wake();
}

// Nothing that is still to come explains its end.
void NodeAgent::group_settled() {
  const TimePoint now = doors_.loop.now();
  // Saved for another node's leaving: that is no success. The leader ends the round in a moment.
  if (words_.save && member_->state() == rendezvous::MemberState::kRunning)
    return member_->on_saved(now, assign_.round);
  if (driver_->succeeded(group_.all_succeeded())) {
    // The store stays: workers of other nodes may not be through with it.
    member_->on_succeeded(now, assign_.round);
  } else {
    store_->hold();
    // Workers that ended because they were asked to did not fail, but their round did.
    if (member_->state() != rendezvous::MemberState::kStopping)
      member_->on_failed(now, assign_.round, {});
    member_->on_gone(now, assign_.round);
  }
  wake();
}

// ---- the end

void NodeAgent::handle_signal(const ReceivedSignal& signal) {
  if (group_.handle_signal(signal)) request_stop(signal);
}

void NodeAgent::request_stop(const ReceivedSignal& signal) {
  const bool repeated = stop_.signal != 0;
  if (repeated && doors_.loop.now() - stop_.when < kSameStopWithin) return;
  const Duration grace = repeated ? Duration::zero() : context_.options.grace_period;
  log::info("job.stop", {{"signal", signal_name(signal.number)},
                         {"sender_pid", signal.sender},
                         {"grace_s", to_seconds(grace)}});
  if (!repeated) stop_ = {signal.number, doors_.loop.now()};
  if (leaving_) driver_->hurry();
  if (leaving_) return leave_within(kHurry);
  member_->on_shutdown(doors_.loop.now(), grace, "got " + signal_name(signal.number));
  wake();
}

RunReport NodeAgent::report() const {
  RunReport report;
  report.entry_point = group_.plan().entry_point();
  report.records = group_.records();
  report.world_size = group_.plan().round().world_size;
  report.max_restarts = context_.options.max_restarts;
  report.verdict = outcome_->verdict;
  const bool marked = has_many_nodes(context_.options) && context_.options.log_format != "json";
  if (marked) report.mark = "[" + context_.node + "] ";
  report.log_dir = group_.log_dir();
  if (assign_.round > 0) report.first_rank = assign_.rank_offset;
  if (outcome_->preempted) report.stop_signal = stop_.signal;
  // Who ended before the signal did not end because of it; what failed is told all the same.
  if (outcome_->preempted)
    std::erase_if(report.records, [this](const auto& record) {
      return record.noticed < stop_.when && !elastic::is_failure(record.failure_class);
    });
  report.lasted = doors_.loop.now() - started_;
  const auto counts =
      outcome_->counts.value_or(rendezvous::JobCounts{.attempts = assign_.attempt + 1});
  report.attempts = counts.attempts;
  report.nodes_lost = counts.nodes_lost;
  report.nodes_joined = counts.nodes_joined;
  if (outcome_->success) report.end_reason = outcome_->reason;
  if (outcome_->first) {
    put_first(elastic::from_wire(*outcome_->first, doors_.loop.now(), doors_.clock.wall_now()),
              context_.node, report);
  } else if (!outcome_->preempted) {
    report.end_reason = outcome_->reason;
    report.end_code = outcome_->exit_code;
    // What followed from something else is not why the job ended, and the leader has judged all.
    const bool judged = !words_.failure || outcome_->told;
    for (auto& record : report.records) {
      if (judged && elastic::is_failure(record.failure_class))
        record.failure_class = elastic::FailureClass::kStopped;
    }
  }
  return report;
}

void NodeAgent::leave_within(Duration time) {
  leave_timer_ = doors_.loop.after(time, [this] {
    leader_host_->stop("its node ends");
    links_->drop_all();
    wake();
  });
}

// The leader in this process stays until every node knows the outcome, or it is told to go.
void NodeAgent::leave_when_told() {
  if (!leaving_) {
    leaving_ = true;
    if (!outcome_->preempted) conclude_run();
    leave_within(stop_.signal != 0 ? kHurry : job_.lease + kLeaveSlack);
  }
  if (leader_host_->leading()) return;
  // A leader that has to go tells why before, in a moment; the report's end is the last line.
  if (!exit_code_) conclude_run();
  links_->close_all("this agent ends");
  leader_host_->close_links("this agent ends");
  if (!links_->empty() || leader_host_->has_links() || !finished_) return;
  if (etcd_ && !etcd_->ended()) return etcd_->end();
  leave_timer_.reset();
  // From here on this agent has no part in the job any more.
  const auto grace =
      stop_.signal != 0 ? std::optional(context_.options.grace_period) : std::nullopt;
  driver_->leave(grace, [this, done = std::exchange(finished_, {})] {
    group_.close([this, done] { done(*exit_code_); });
  });
}

void NodeAgent::conclude_run() {
  exit_code_ = conclude(report(), outcome_->success, context_.options, context_.environment,
                        doors_.files, doors_.console);
}

}  // namespace muster::launcher
