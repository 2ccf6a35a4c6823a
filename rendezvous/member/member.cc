#include "rendezvous/member/member.h"

#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/member/member_core.h"

namespace muster::rendezvous {

namespace {

using std::chrono::milliseconds;

constexpr int kExitPreempted = kSignalExitBase + SIGTERM;
constexpr int64_t kOldAgeMs = 365LL * 24 * 3600 * 1000;  // a restart's: older than any window
// Less is left only because the leader's word took its time.
constexpr Duration kWorthSaying = std::chrono::milliseconds(100);
constexpr size_t kMaxFailuresKept = 16;  // the first ones; later ones are cascades

int64_t to_ms(Duration duration) {
  return std::chrono::duration_cast<milliseconds>(duration).count();
}

}  // namespace

MemberCore::MemberCore(TimePoint now, const JobOptions& options, MemberSetup setup)
    : beat_at_(now),
      options_(options),
      times_(lease_times(options.lease)),
      setup_(std::move(setup)),
      lease_from_(now),
      alone_since_(now),
      awake_at_(now) {
  MUSTER_CHECK(!setup_.candidates.empty() && setup_.candidates.size() <= kMaxCandidates);
  candidates_.resize(setup_.candidates.size());
  for (CandidateState& candidate : candidates_) candidate.seen = candidate.dial_at = now;
  advance(now);
}

bool MemberCore::in_round() const {
  return state_ == MemberState::kChecking || state_ == MemberState::kStarting ||
         state_ == MemberState::kRunning || state_ == MemberState::kStopping;
}

void MemberCore::handle(TimePoint now, MemberEvent event) {
  const MemberTransition& row = transition(state_, event);
  MUSTER_CHECK(row.action != MemberAction::kBug);
  if (row.next != state_) {
    log(log::Level::kDebug, kEventMemberState,
        fmt::format("{} on {}: {}", to_string(state_), to_string(event), to_string(row.next)));
  }
  const bool was_served = in_round() || state_ == MemberState::kSpare;
  state_ = row.next;
  if (was_served && !in_round() && state_ != MemberState::kSpare) alone_since_ = now;
  perform(now, event, row.action);
}

void MemberCore::perform(TimePoint now, MemberEvent event, MemberAction action) {
  switch (action) {
    case MemberAction::kNothing:
      return;
    case MemberAction::kAsk:
      for (CandidateState& candidate : candidates_) {
        candidate.dial_at = std::min(candidate.dial_at, now);
      }
      return;
    case MemberAction::kPrepare:
      outputs_.push_back(member_output::PrepareRound{assign_});
      return;
    case MemberAction::kStart:
      outputs_.push_back(member_output::StartWorkers{assign_});
      return;
    case MemberAction::kReport:
      return report(now, event);
    case MemberAction::kStop:
      return stop_workers(now, event == MemberEvent::kFinishOrdered);
    case MemberAction::kKill:
      return kill_workers(fence_reason_);
    case MemberAction::kRejoin:
      return rejoin(now);
    case MemberAction::kExit:
      return exit_now();
    case MemberAction::kBug:
      return;
  }
}

// kWelcomed: who we are. The others: what became of our workers.
void MemberCore::report(TimePoint now, MemberEvent event) {
  if (event == MemberEvent::kWelcomed) return send_join(now);
  if (event == MemberEvent::kStarted) return send(Started{round_});
  if (event == MemberEvent::kFailed) {
    const auto& all = failures_.all;
    const auto told = static_cast<ptrdiff_t>(std::exchange(failures_.told, all.size()));
    return send(Failed{round_, {all.begin() + told, all.end()}});
  }
  MUSTER_CHECK(event == MemberEvent::kSucceeded);
  (void)saving_.end();
  if (rounds_.last) {
    rounds_.last->workers = false;
    rounds_.last->succeeded = true;
  }
  done_ = !leave_by_ && !rounds_.later;  // else they saved and ended because they were told to
  send(Succeeded{round_});
  adopt_later();
  if (outcome_) return handle(now, MemberEvent::kFinishOrdered);
  if (leave_by_) return handle(now, MemberEvent::kAbandon);  // nothing of ours runs
  if (!leader_) handle(now, MemberEvent::kLinkLost);
}

void MemberCore::send_join(TimePoint now) {
  Join join = setup_.self;
  join.last_round = rounds_.last;
  join.confirmed_round = rounds_.confirmed;
  join.ended = rounds_.ended;
  if (const auto& heard = words_.former()) {
    join.former_leader_ms =
        static_cast<int>(std::min<int64_t>(to_ms(now - *heard), kMaxFormerLeaderMs));
  }
  join.budget = budget(now);
  join.size = size_;
  join.job = assign_.job;
  join.failures = failures_.all;
  join.leader = leader_agent_;
  for (Failure& failure : join.failures) failure = aged(now, std::move(failure));
  send(std::move(join));
  if (!in_round()) lease_from_ = now;
  // It may have been lost with the former link.
  if (state_ == MemberState::kRunning) send(Started{round_});
  if (!failures_.open.empty()) send(failures_.open.front());
  for (Contribution& part : exchange_.messages()) send(std::move(part));
  if (leave_by_ && *leave_by_ > now) send(Leaving{leave_reason_, to_ms(*leave_by_ - now)});
}

// Whoever was told to save keeps that time, whatever ends the round meanwhile, unless nobody would
// wait for it: then SIGTERM comes at once, and SIGKILL no earlier than without.
void MemberCore::stop_workers(TimePoint now, bool job_over) {
  Duration grace = milliseconds(stop_.grace_ms);
  const bool saves = saving_.runs(now);
  if ((saves || saving_.holds()) && !job_over && !stop_.next_runs) {
    if (saves && !stop_.all_leave) {
      const bool news = saving_.left(now) >= kWorthSaying;
      log(news ? log::Level::kInfo : log::Level::kDebug, kEventRoundSaving,
          fmt::format("workers have {} to save before they are stopped: {}",
                      format_duration(saving_.left(now)), stop_.reason));
      return saving_.hold(stop_);
    }
    grace = saving_.stop_grace(now, options_.stop_grace);
  }
  (void)saving_.end();  // it was held back for this one
  outputs_.push_back(member_output::StopWorkers{round_, grace, stop_.reason});
}

// Nobody saves here, or does any more.
void MemberCore::saved() {
  if (const auto held = saving_.end())
    outputs_.push_back(
        member_output::StopWorkers{round_, milliseconds(held->grace_ms), held->reason});
}

void MemberCore::told(WorkerWord word) {
  if (auto* decision = std::get_if<JobDecision>(&word)) {
    if (rounds_.last) rounds_.last->decision = *decision;
    return send(Decided{round_, std::move(*decision)});
  }
  auto& end = std::get<LoneEnd>(word);
  if (failures_.ask({round_, 0, end.rank, std::move(end.reason)})) send(failures_.open.front());
}

void MemberCore::kill_workers(const std::string& reason) {
  (void)saving_.end();
  log(leave_by_ ? log::Level::kWarning : log::Level::kError, kEventMemberFenced, reason);
  outputs_.push_back(member_output::KillWorkers{round_, reason});
}

// Nothing of ours is alive: the leader may form the next round.
void MemberCore::rejoin(TimePoint now) {
  (void)saving_.end();
  if (rounds_.last) rounds_.last->workers = false;
  send(Stopped{stop_.round != 0 ? stop_.round : round_});
  adopt_later();
  stop_.round = 0;
  done_ = false;
  if (outcome_) return handle(now, MemberEvent::kFinishOrdered);
  if (leave_by_) return handle(now, MemberEvent::kAbandon);
  if (!leader_) handle(now, MemberEvent::kLinkLost);
}

void MemberCore::exit_now() {
  send(Goodbye{outcome_ ? outcome_->reason : leave_reason_});
  if (!outcome_) {
    outcome_ =
        MemberOutcome{.success = done_,
                      .preempted = !done_,
                      .exit_code = done_ ? 0 : kExitPreempted,
                      .reason = leave_reason_ + (done_ ? ", after its workers succeeded" : ""),
                      .first = std::nullopt,
                      .verdict = {}};
  }
  // A leader of our own that we have not joined yet would not hear it.
  if (leading_ && !leader_) outputs_.push_back(member_output::StopLeading{"its node ends"});
  outputs_.push_back(member_output::Exit{*outcome_});
}

void MemberCore::failed(TimePoint now, uint64_t round, std::vector<Failure> failures) {
  if (!current(round)) return;
  // The leader hears how far the workers came before it judges why they failed.
  if (leader_ && step_ >= 0) {
    beat_at_ = now;
    beat(now);
  }
  for (Failure& failure : failures) {
    failure.happened = now - milliseconds(failure.age_ms);
    if (failures_.all.size() < kMaxFailuresKept) failures_.all.push_back(std::move(failure));
  }
  handle(now, MemberEvent::kFailed);
}

void MemberCore::beat(TimePoint now) {
  if (now < beat_at_) return;
  const uint64_t known = in_round() ? round_ : rounds_.last ? rounds_.last->round : 0;
  send(Heartbeat{beats_.next(now), known, step_, words_.echo_ms()});
  beat_at_ = now + times_.heartbeat;
}

void MemberCore::contribute(uint64_t round, uint64_t sequence, std::string bytes) {
  if (!rounds_.last || !exchanges_in(*rounds_.last, round)) return;
  exchange_.begin(round, sequence, std::move(bytes));
  for (Contribution& part : exchange_.messages()) send(std::move(part));
}

void MemberCore::shutdown(TimePoint now, Duration grace, std::string reason) {
  if (state_ == MemberState::kExiting || outcome_) return;
  const bool again = leave_by_.has_value();
  if (!again) leave_reason_ = std::move(reason);
  leave_by_ = again ? now : now + grace;
  if (!in_round()) return handle(now, MemberEvent::kAbandon);
  if (again) return;  // advance() finds that its time is over
  send(Leaving{leave_reason_, to_ms(grace)});
  if (state_ == MemberState::kRunning || saving_.holds()) saving_.begin(now, grace, true);
  // While a Stop waits for those who save there is no more than until then.
  if (saving_.holds()) grace = std::min(grace, 2 * saving_.left(now));
  outputs_.push_back(member_output::NotifyWorkers{round_, true, grace, setup_.self.identity.name});
}

void MemberCore::send(Message message) {
  if (!leader_) return;
  outputs_.push_back(member_output::Send{*leader_, std::move(message)});
}

void MemberCore::keep_budget(TimePoint now, const BudgetState& budget) {
  budget_ = budget;
  budget_at_ = now;
}

BudgetState MemberCore::budget(TimePoint now) const {
  BudgetState budget = budget_;
  const int64_t since = to_ms(now - budget_at_);
  budget.pause_ms = std::max<int64_t>(budget.pause_ms - since, 0);
  // A restart leaves the window of --restart-window under the next leader, too.
  for (int64_t& age : budget.restart_ages_ms) age += age < kOldAgeMs ? since : 0;
  return budget;
}

// A candidate that is alone tries to lead again and again; its 2nd, 4th, 8th, ... attempt is news.
bool MemberCore::quiet() const {
  const auto attempts = static_cast<unsigned>(fruitless_);
  return (attempts & (attempts - 1)) != 0;
}

void MemberCore::log(log::Level level, std::string_view event, std::string reason) {
  if (quiet() && level < log::Level::kError) level = log::Level::kDebug;
  outputs_.push_back(member_output::Log{level, event, std::move(reason)});
}

// Whom it has refused since it decided to lead its leader shall know of, too.
std::vector<MemberOutput> MemberCore::take_outputs() {
  for (MemberOutput& output : outputs_) {
    auto* lead = std::get_if<member_output::BecomeLeader>(&output);
    if (lead != nullptr && !had_leader_) lead->seed.misfit = refused_;
  }
  return std::exchange(outputs_, {});
}

Member::Member(TimePoint now, const JobOptions& options, MemberSetup setup)
    : core_(std::make_unique<MemberCore>(now, options, std::move(setup))) {}
Member::~Member() = default;

void Member::on_connected(TimePoint now, int candidate) {
  core_->check_lease(now);
  core_->connected(now, candidate);
  core_->advance(now);
}
void Member::on_dial_failed(TimePoint now, int candidate, DialFailure failure,
                            const std::string& text) {
  core_->check_lease(now);
  core_->dial_failed(now, candidate, failure, text);
  core_->advance(now);
}
void Member::on_link_closed(TimePoint now, int candidate, const std::string& why) {
  core_->check_lease(now);
  core_->link_closed(now, candidate, why);
  core_->advance(now);
}
void Member::on_message(TimePoint now, int candidate, const Message& message) {
  core_->check_lease(now);
  core_->message(now, candidate, message);
  core_->advance(now);
}
void Member::on_tick(TimePoint now) {
  core_->check_lease(now);
  core_->advance(now);
}
void Member::on_elected(TimePoint now, const Election& election) {
  core_->check_lease(now);
  core_->elected(now, election);
  core_->advance(now);
}
void Member::on_asked(TimePoint now, const leader_output::AskCandidates& question) {
  core_->check_lease(now);
  core_->asked(now, question);
  core_->advance(now);
}
void Member::on_dialed(TimePoint now, DialId dial, DialResult result) {
  core_->check_lease(now);
  core_->dialed(now, dial, result);
  core_->advance(now);
}
void Member::on_misfit(const std::string& text) {
  if (core_->refused_.empty()) core_->refused_ = text;  // a node's own words tell more
}
void Member::set_note_for_peers(std::string note) { core_->set_note_for_peers(std::move(note)); }
bool Member::may_lead() const { return core_->may_lead(); }
void Member::on_prepared(TimePoint now, uint64_t round) {
  core_->check_lease(now);
  if (core_->current(round)) core_->handle(now, MemberEvent::kPrepared);
  core_->advance(now);
}
void Member::on_started(TimePoint now, uint64_t round) {
  core_->check_lease(now);
  if (core_->current(round)) core_->handle(now, MemberEvent::kStarted);
  core_->advance(now);
}
void Member::on_failed(TimePoint now, uint64_t round, std::vector<Failure> failures) {
  core_->check_lease(now);
  core_->failed(now, round, std::move(failures));
  core_->advance(now);
}
void Member::on_succeeded(TimePoint now, uint64_t round) {
  core_->check_lease(now);
  if (core_->current(round)) core_->handle(now, MemberEvent::kSucceeded);
  core_->advance(now);
}
void Member::on_word(TimePoint now, uint64_t round, WorkerWord word) {
  core_->check_lease(now);
  if (core_->current(round)) core_->told(std::move(word));
  core_->advance(now);
}
void Member::on_saved(TimePoint now, uint64_t round) {
  core_->check_lease(now);
  if (core_->current(round)) core_->saved();
  core_->advance(now);
}
void Member::on_gone(TimePoint now, uint64_t round) {
  core_->check_lease(now);
  if (core_->current(round)) core_->handle(now, MemberEvent::kGone);
  core_->advance(now);
}
void Member::on_progress(TimePoint now, uint64_t round, int64_t step) {
  core_->check_lease(now);
  if (core_->current(round)) {
    if (core_->step_ < 0) core_->beat_at_ = now;
    core_->step_ = std::max(core_->step_, step);
  }
  core_->advance(now);
}
void Member::on_contribution(TimePoint now, uint64_t round, uint64_t sequence, std::string bytes) {
  core_->check_lease(now);
  core_->contribute(round, sequence, std::move(bytes));
  core_->advance(now);
}
void Member::on_shutdown(TimePoint now, Duration grace, std::string reason) {
  core_->check_lease(now);
  core_->shutdown(now, grace, std::move(reason));
  core_->advance(now);
}
bool Member::set_candidates(TimePoint now, std::vector<std::string> candidates,
                            std::optional<int> own, std::optional<int> port) {
  core_->check_lease(now);
  if (!core_->set_candidates(now, std::move(candidates), own, port)) return false;
  core_->advance(now);
  return true;
}
Message Member::answer(TimePoint now, const Hello& hello) { return core_->answer(now, hello); }
std::optional<TimePoint> Member::next_deadline() const { return core_->deadline(); }
std::vector<MemberOutput> Member::take_outputs() { return core_->take_outputs(); }
MemberState Member::state() const { return core_->state_; }
std::optional<int> Member::leader() const { return core_->leader(); }
bool Member::knows_round() const { return core_->knows_round(); }
bool Member::has_leader() const { return core_->has_leader(); }

}  // namespace muster::rendezvous
