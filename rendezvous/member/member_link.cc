// A member's link to its leader: asking candidates, joining, heartbeats, the lease.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/exit_code.h"
#include "base/text.h"
#include "rendezvous/agreement/electorate.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/member/member_core.h"

namespace muster::rendezvous {

namespace {

// Between two dials of one candidate: short at first, because leaders change hands in moments. Who
// leads next may not have noticed it when the others ask; but all nodes of a large job that ask
// again at once would keep it from noticing, so the first pause is about what all of them cost it.
constexpr Duration kDialCost = std::chrono::microseconds(50);  // tests/bench/rounds.py: 60 to 100
constexpr Duration kShortestRetry = std::chrono::milliseconds(2);
constexpr Duration kLongestFirstRetry = std::chrono::milliseconds(50);
constexpr Duration kLongestRetry = std::chrono::seconds(1);
constexpr Duration kAnswerWithin = std::chrono::seconds(3);  // half of the lease if that is less

Duration answer_within(const LeaseTimes& times) {
  return std::min<Duration>(kAnswerWithin, times.lease / 2);
}

// Who may lead looks at the clock that often: a longer pause means that it was frozen. Twice that
// is less than the others wait for an answer, before they may do without it.
Duration watchful(const LeaseTimes& times) {
  return std::min<Duration>(kLongestRetry, answer_within(times) / 3);
}

// Links that failed say where they led to; what the leader says does not.
std::string naming(const std::string& candidate, const std::string& problem) {
  return problem.starts_with(candidate) ? problem : candidate + ": " + problem;
}

}  // namespace

void MemberCore::connected(TimePoint now, int candidate) {
  CandidateState& state = at(candidate);
  if (state.link != CandidateLink::kDialling) return;
  if (leader_ && !inquiry_.asks(candidate)) {
    state.link = CandidateLink::kDown;
    outputs_.push_back(member_output::CloseLink{candidate});
    return;
  }
  state.link = CandidateLink::kGreeted;
  state.answer_by = now + answer_within(times_);
  outputs_.push_back(member_output::Send{
      candidate, Hello{kControlVersion, options_.run_id, options_.secured, term_, Purpose::kMember,
                       setup_.self.candidate, setup_.self.identity.name, told_settings(options_),
                       std::nullopt, setup_.self.identity.incarnation}});
}

void MemberCore::dial_failed(TimePoint now, int candidate, DialFailure failure,
                             const std::string& text) {
  CandidateView view = CandidateView::kSilent;
  switch (failure) {
    case DialFailure::kRefused:
      view = CandidateView::kGone;
      break;
    case DialFailure::kNoName:
      // A machine that is cut off may lose its name, and its launcher goes on for good.
      view = options_.rule.leader_alone() && at(candidate).met ? CandidateView::kSilent
                                                               : CandidateView::kAbsent;
      break;
    case DialFailure::kNoAnswer:
      break;
    case DialFailure::kRejected:
      if (inquiry_.asks(candidate)) view = CandidateView::kGone;  // no agent of this job
      if (at(candidate).problem != text) log(log::Level::kError, kEventLeaderRefused, text);
      if (!had_leader_) return refused_for_good(now, text);
      break;
  }
  drop_link(now, candidate, view, text);
}

void MemberCore::link_closed(TimePoint now, int candidate, const std::string& why) {
  if (leader_ == candidate) return lose_leader(now, CandidateView::kUnasked, why);
  if (at(candidate).link == CandidateLink::kDown) return;
  if (!had_leader_) return unusable(now, candidate, why);
  // An agent of the job that just leads, follows another one or ends; it is asked again.
  log(log::Level::kDebug, kEventLeaderUnusable, why);
  drop_link(now, candidate, CandidateView::kSilent, why);
}

// Somebody took the connection and does not speak as an agent does: it is asked again, and told of
// once.
void MemberCore::unusable(TimePoint now, int candidate, const std::string& problem) {
  if (at(candidate).problem != problem) {
    const std::string& name = setup_.candidates.at(static_cast<size_t>(candidate));
    log(log::Level::kWarning, kEventLeaderUnusable, naming(name, problem));
  }
  drop_link(now, candidate, CandidateView::kSilent, problem);
}

// Another secret, job or version does not change by asking again.
void MemberCore::refused_for_good(TimePoint now, const std::string& text) {
  outcome_ = MemberOutcome{false, false, kExitConfig, text, std::nullopt};
  handle(now, MemberEvent::kGiveUp);
}

// The link is down and will be dialled again after a while.
void MemberCore::drop_link(TimePoint now, int candidate, CandidateView view,
                           const std::string& problem) {
  CandidateState& state = at(candidate);
  state.link = CandidateLink::kDown;
  state.view = view;
  state.problem = problem;
  const Duration cost = options_.max_nodes * kDialCost;
  const Duration first = std::clamp(cost, kShortestRetry, kLongestFirstRetry);
  // When a silent leader's successor is about to take over, all survivors wait for it; they heard
  // the leader last at times that differ by a heartbeat.
  const TimePoint soon = successor_due_.value_or(TimePoint::max()) - times_.heartbeat;
  const bool due = now >= soon && now - soon < times_.heartbeat + times_.suspect;
  const Duration longest =
      due ? std::clamp<Duration>(cost, kLongestFirstRetry, kLongestRetry) : kLongestRetry;
  state.retry = std::clamp<Duration>(state.retry * 2, first, longest);
  const std::chrono::duration<double> spread(to_seconds(state.retry) *
                                             (0.75 + 0.5 * setup_.jitter));
  state.dial_at = now + std::chrono::duration_cast<Duration>(spread);
  if (now < soon) state.dial_at = std::min(state.dial_at, soon);
  if (inquiry_.asks(candidate)) note_answer(candidate, view);
}

void MemberCore::lose_leader(TimePoint now, CandidateView view, const std::string& problem) {
  const int lost = *leader_;
  // Of the one in this process its own last words have told.
  const bool here = leader_agent_ == setup_.self.identity.incarnation;
  log(here ? log::Level::kDebug : log::Level::kWarning, kEventLeaderLost,
      naming(setup_.candidates.at(static_cast<size_t>(lost)), problem));
  leader_.reset();
  inquiry_ = {};
  beats_.forget();
  successor_due_ = at(lost).seen + times_.lease;
  roll_call_.end();
  roll_call_.wait_until(now + times_.suspect);  // one that ended has a successor before that
  if (acknowledged_at_) alone_since_ = std::max(alone_since_, *acknowledged_at_);
  for (CandidateState& candidate : candidates_) {
    candidate.retry = Duration::zero();
    // What was known of others is old, they may have been started again: their answers decide.
    candidate.view = CandidateView::kUnasked;
  }
  // Nobody else asks for the leader that lives here.
  const bool own = leading_ && setup_.self.candidate == lost && view == CandidateView::kUnasked;
  const bool silent = now - at(lost).seen >= times_.heartbeat + times_.suspect;
  drop_link(now, lost, own ? CandidateView::kLeading : view, problem);
  at(lost).dial_at = now;
  handle(now, MemberEvent::kLinkLost);
  // Where it was silent this process may have been frozen, and others may have another leader by
  // now: they are asked before.
  if (own && silent) at(lost).dial_at = now + times_.suspect;
}

void MemberCore::message(TimePoint now, int candidate, const Message& message) {
  CandidateState& state = at(candidate);
  if (state.link == CandidateLink::kDown || state.link == CandidateLink::kDialling) return;
  state.seen = now;
  state.met = true;
  if (const auto* welcome = std::get_if<Welcome>(&message)) {
    welcomed(now, candidate, *welcome);
  } else if (const auto* refusal = std::get_if<Refuse>(&message)) {
    refused(now, candidate, *refusal);
  } else if (leader_ == candidate) {
    from_leader(now, message);
  }
}

void MemberCore::welcomed(TimePoint now, int candidate, const Welcome& welcome) {
  if (inquiry_.asks(candidate)) {
    // Under a name by which this agent does not know itself it may have met itself.
    const bool own = welcome.incarnation == setup_.self.identity.incarnation;
    outputs_.push_back(member_output::CloseLink{candidate});
    return drop_link(now, candidate, own ? CandidateView::kFollowing : CandidateView::kLeading,
                     own ? "" : "leads as well");
  }
  if (leader_ || at(candidate).link != CandidateLink::kGreeted) return;
  if (welcome.term < term_) {
    // It learned of the later term from our Hello; as long as it has an older one, it is not ours.
    outputs_.push_back(member_output::CloseLink{candidate});
    return drop_link(now, candidate, CandidateView::kSilent, "an older leader");
  }
  // All nodes of a job have one list of those who may lead it, or two of them would lead in turn
  // and never find each other. So this node joins by the list of the leader that it found.
  if (take_leaders(welcome.leaders)) {
    yield_to(candidate);
    outputs_.push_back(member_output::CloseLink{candidate});
    return drop_link(now, candidate, CandidateView::kLeading, "leads by another list");
  }
  leader_ = candidate;
  awaited_.clear();
  leader_agent_ = welcome.incarnation;
  yielded_ = yielded_ || leader_agent_ != setup_.self.identity.incarnation;
  waited_for_.clear();
  joined_at_ = now;
  const bool follows = std::exchange(had_leader_, true);
  term_ = welcome.term;
  words_.heard(welcome.term, welcome.clock_ms, now);
  successor_due_.reset();
  at(candidate).link = CandidateLink::kJoined;
  at(candidate).view = CandidateView::kLeading;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (static_cast<int>(i) == candidate || candidates_[i].link == CandidateLink::kDown) continue;
    candidates_[i].link = CandidateLink::kDown;
    outputs_.push_back(member_output::CloseLink{static_cast<int>(i)});
  }
  yield_to(candidate);
  beat_at_ = now;
  // The first one is what everybody expects; another one is the end of a search.
  log(follows ? log::Level::kInfo : log::Level::kDebug, kEventLeaderFound,
      fmt::format("{}, term {}", welcome.leader, welcome.term));
  if (std::exchange(notice_, welcome.notice) != welcome.notice && !notice_.empty()) {
    log(log::Level::kWarning, kEventJobSettings, notice_);
  }
  handle(now, MemberEvent::kWelcomed);
}

void MemberCore::refused(TimePoint now, int candidate, const Refuse& refuse) {
  outputs_.push_back(member_output::CloseLink{candidate});
  if (inquiry_.asks(candidate)) return refused_inquiry(now, candidate, refuse);
  CandidateView view = CandidateView::kSilent;
  // Who may lead is known best to a node that follows a leader; else to one that knows a round.
  if (!has_leader() && (refuse.leader != 0 || !knows_round())) take_leaders(refuse.leaders);
  if (refuse.code == RefuseCode::kNotLeader || refuse.code == RefuseCode::kClosed) {
    adopt(now, refuse.last);
  }
  switch (refuse.code) {
    case RefuseCode::kNotLeader:
      view = refuse.leader == 0 ? CandidateView::kFollowing : CandidateView::kServed;
      break;
    case RefuseCode::kClosed:
      view = CandidateView::kGone;
      break;
    case RefuseCode::kVersion:
    case RefuseCode::kRunId:
    case RefuseCode::kSecret:
    case RefuseCode::kSettings:
      if (at(candidate).problem != refuse.text) {
        log(log::Level::kError, kEventLeaderRefused, refuse.text);
      }
      // To our Hello, or to the Join of a node that never was in a round.
      if (!had_leader_ || (leader_ == candidate && !rounds_.last)) {
        leader_.reset();
        return refused_for_good(
            now, refuse.text + " (" + setup_.candidates.at(static_cast<size_t>(candidate)) + ")");
      }
      break;
    case RefuseCode::kSelf:  // who dialled has found out before
      break;
    case RefuseCode::kBadJoin:
      log(log::Level::kWarning, kEventLeaderRefused, refuse.text);
      break;
  }
  if (leader_ == candidate) return lose_leader(now, view, refuse.text);
  drop_link(now, candidate, view, refuse.text);
}

void MemberCore::from_leader(TimePoint now, const Message& message) {
  if (const auto* ack = std::get_if<Ack>(&message)) return acknowledged(now, *ack);
  if (const auto* assign = std::get_if<Assign>(&message)) return assigned(now, *assign);
  if (const auto* part = std::get_if<RosterPart>(&message)) return parts_.take(*part);
  if (const auto* wait = std::get_if<Waiting>(&message)) return waiting(now, *wait);
  if (const auto* verdict = std::get_if<MayRestart>(&message)) {
    if (verdict->budget.restarts_charged > budget_.restarts_charged)
      keep_budget(now, verdict->budget);
    auto question = failures_.answered(*verdict);
    if (!question) return;  // it is another node's, and tells the budget alone
    outputs_.push_back(member_output::RestartAlone{std::move(*question), *verdict});
    if (!failures_.open.empty()) send(failures_.open.front());
    return;
  }
  if (const auto* stop = std::get_if<Stop>(&message)) {
    if (stop->round != round_ && in_round()) return;  // of an earlier round, and late
    stop_ = *stop;
    if (saving_.holds() && (stop->all_leave || stop->next_runs)) return stop_workers(now, false);
    handle(now, MemberEvent::kStopOrdered);
  } else if (const auto* notice = std::get_if<Notice>(&message)) {
    if (!in_round() || state_ == MemberState::kStopping) return;
    if (leave_by_) return;  // its workers were told when it was
    const std::chrono::milliseconds grace(notice->grace_ms);
    const bool saves = options_.preempt_notify_all && state_ == MemberState::kRunning;
    if (saves) saving_.begin(now, grace, false);
    outputs_.push_back(member_output::NotifyWorkers{round_, false, grace, notice->leaver});
  } else if (const auto* finish = std::get_if<Finish>(&message)) {
    outcome_ =
        MemberOutcome{finish->success, false, finish->exit_code, finish->reason, finish->first,
                      finish->verdict, true,  finish->counts};
    const auto grace = std::chrono::duration_cast<std::chrono::milliseconds>(options_.stop_grace);
    stop_ = Stop{round_, grace.count(), finish->reason};
    if (saving_.holds()) stop_workers(now, true);
    handle(now, MemberEvent::kFinishOrdered);
  } else if (const auto* quit = std::get_if<Quit>(&message)) {
    setup_.self.stop = quit->reason;
  } else if (const auto* decided = std::get_if<Decided>(&message)) {
    if (rounds_.last && rounds_.last->round == decided->round)
      rounds_.last->decision = decided->decision;
  } else if (const auto* handover = std::get_if<Handover>(&message)) {
    handed_over(now, *handover);
  } else if (const auto* part = std::get_if<Exchanged>(&message);
             part && rounds_.last && exchanges_in(*rounds_.last, part->round)) {
    auto all = exchange_.take(*part, static_cast<size_t>(assign_.node_count));
    if (all)
      outputs_.push_back(member_output::ExchangeDone{part->round, part->sequence, std::move(*all)});
  }
}

void MemberCore::acknowledged(TimePoint now, const Ack& ack) {
  words_.heard(term_, ack.clock_ms, now);
  if (ack.size) size_ = ack.size;
  if (rounds_.ran_everywhere({term_, ack.confirmed}))
    log(log::Level::kDebug, kEventRoundRunning,
        fmt::format("round {} on all its nodes", ack.confirmed));
  if (const auto sent = beats_.answered(ack.sequence)) heard_from_ = *sent;
  if (ack.in_vain) return;
  lease_from_ = std::max(lease_from_, heard_from_);
  evidence_from_ = lease_from_;
  acknowledged_at_ = now;
  fruitless_ = 0;
}

void MemberCore::assigned(TimePoint now, Assign assign) {
  auto parts = parts_.release({assign.term, assign.round}, static_cast<size_t>(assign.node_count));
  if (assign.roster.empty()) assign.roster = std::move(parts);
  if (in_round() || (rounds_.last && assign.round <= rounds_.last->round)) return;
  rounds_.ran_everywhere(
      {assign.confirmed_term == 0 ? assign.term : assign.confirmed_term, assign.confirmed});
  assign_ = assign;
  round_ = assign.round;
  stop_ = {};
  done_ = false;
  step_ = -1;
  term_ = std::max(term_, assign.term);
  keep_budget(now, assign.budget);
  // It was sent after the answers that came before it, and with a quorum.
  lease_from_ = std::max(lease_from_, heard_from_);
  evidence_from_ = lease_from_;
  failures_ = {};
  yielded_ = false;
  exchange_.forget();
  rounds_.begin({.round = assign.round,
                 .term = assign.term,
                 .node_rank = assign.node_rank,
                 .node_count = assign.node_count,
                 .seat = assign.seat.value_or(setup_.self.identity),
                 .leader_rank = assign.leader_rank,
                 .workers = true,
                 .decision = {},
                 .roster = assign.roster});
  rounds_.learn_ended(assign.ended);
  handle(now, MemberEvent::kAssigned);
}

void MemberCore::waiting(TimePoint now, const Waiting& waiting) {
  done_ = false;  // the round that our workers succeeded in is over
  const bool said = leader_agent_ == setup_.self.identity.incarnation;  // by the leader in here
  if (!said && std::exchange(waited_for_, waiting.reason) != waiting.reason &&
      !waiting.reason.empty())
    log(log::Level::kInfo, kEventRoundWaiting, waiting.reason);
  const RoundKey told{waiting.last.term, waiting.last.round};
  auto nodes = parts_.release(told, static_cast<size_t>(waiting.last.node_count));
  adopt(now, waiting.last);
  for (auto* known : {&rounds_.last, &rounds_.later})
    if (*known && key_of(**known) == told && (*known)->roster.empty()) (*known)->roster = nodes;
  handle(now, waiting.spare ? MemberEvent::kPark : MemberEvent::kWait);
}

void MemberCore::handed_over(TimePoint now, const Handover& handover) {
  if (handover.last.round == 0) words_.forget_last();
  if (handover.confirmed) rounds_.ran_everywhere(handover.last);
  const RoundKey last = rounds_.last ? key_of(*rounds_.last) : RoundKey{};
  rounds_.last_of_leader = handover.last;
  // Who knew of a later round than ours may have helped that one to run before it ended.
  if (handover.last <= last) rounds_.learn_ended(handover.ended);
  if (rounds_.last && handover.last == last) rounds_.last->intact = handover.intact;
  if (leader_ == setup_.self.candidate) leading_ = false;
  outputs_.push_back(member_output::CloseLink{*leader_});
  lose_leader(now, CandidateView::kUnasked, handover.reason);
}

// An agent that was frozen finds its lease over here, before it does anything else.
void MemberCore::check_lease(TimePoint now) {
  const Duration asleep = now - std::exchange(awake_at_, now);
  if (!leader_ && setup_.self.candidate && asleep > 2 * watchful(times_)) ask_again(now);
  if (in_round() && now >= lease_from_ + times_.fence && fence_reason_.empty()) {
    fence_reason_ = fmt::format("no word of the leader for {}: another part of the job may go on",
                                format_duration(now - lease_from_));
    handle(now, MemberEvent::kFenced);
  }
  if (!in_round()) fence_reason_.clear();
  if (!leader_) return;
  if (now >= unheard_until()) {
    const std::string silent = "silent for " + format_duration(now - at(*leader_).seen);
    // TCP repeats what a broken network swallowed at intervals that double; a new connection finds
    // out within two seconds that it was repaired. If the leader is gone, time is won.
    outputs_.push_back(member_output::CloseLink{*leader_});
    lose_leader(now, CandidateView::kUnasked, silent + ", dialling it anew");
  } else if (now >= unserved_until()) {
    outputs_.push_back(member_output::CloseLink{*leader_});
    lose_leader(now, CandidateView::kSilent, "it has no quorum");
  }
}

TimePoint MemberCore::unheard_until() const {
  const CandidateState& leader = candidates_.at(static_cast<size_t>(*leader_));
  return std::max(leader.seen, joined_at_) + times_.heartbeat + times_.suspect;
}

// Longer than a leader goes on without a quorum: what it knows when it hands over shall be heard.
TimePoint MemberCore::unserved_until() const {
  return std::max(lease_from_, joined_at_) + times_.lease + times_.suspect;
}

void MemberCore::advance(TimePoint now) {
  if (state_ == MemberState::kExiting) return;
  if (leave_by_ && now >= *leave_by_ && fence_reason_.empty()) {
    fence_reason_ = "its time to leave is over";
    handle(now, MemberEvent::kAbandon);
    if (state_ == MemberState::kExiting) return;
  }
  if (const auto due = saving_.due(); due && now >= *due) {
    const Duration grace = saving_.stop_grace(now, options_.stop_grace);
    const std::string reason = saving_.end()->reason;
    outputs_.push_back(member_output::StopWorkers{round_, grace, reason});
  }
  if (!in_round() && !leader_ && now >= alone_since_ + options_.join_timeout) {
    const bool misfit = !had_leader_ && !refused_.empty();
    outcome_ =
        MemberOutcome{false, false, misfit ? kExitConfig : kExitUnavailable,
                      missing_leader() + (misfit ? "; refused: " + refused_ : ""), std::nullopt};
    return handle(now, MemberEvent::kGiveUp);
  }
  if (leader_ && inquiry_.open.empty()) return beat(now);
  dial(now);
  if (leader_) return beat(now);
  call_roll(now);
  consider_leading(now);
}

void MemberCore::dial(TimePoint now) {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    CandidateState& candidate = candidates_[i];
    const int number = static_cast<int>(i);
    if (leader_ && !inquiry_.asks(number)) continue;
    if (candidate.link == CandidateLink::kGreeted && now >= candidate.answer_by) {
      outputs_.push_back(member_output::CloseLink{number});
      unusable(
          now, number,
          fmt::format("takes the connection, but says nothing within {}: no agent of muster, or "
                      "one that is stopped",
                      format_duration(answer_within(times_))));
    }
    const bool own = setup_.self.candidate == number;
    if (own && candidate.view != CandidateView::kLeading) continue;
    if (candidate.link != CandidateLink::kDown || now < candidate.dial_at) continue;
    candidate.link = CandidateLink::kDialling;
    outputs_.push_back(member_output::Dial{number});
  }
}

std::optional<TimePoint> MemberCore::deadline() const {
  if (state_ == MemberState::kExiting) return std::nullopt;
  std::optional<TimePoint> first;
  const auto add = [&first](TimePoint at) { first = first ? std::min(*first, at) : at; };
  if (in_round() && fence_reason_.empty()) add(lease_from_ + times_.fence);
  if (leave_by_ && fence_reason_.empty()) add(*leave_by_);
  if (const auto due = saving_.due()) add(*due);
  if (leader_) {
    add(beat_at_);
    add(unheard_until());
    add(unserved_until());
  } else if (!in_round()) {
    add(alone_since_ + options_.join_timeout);
  }
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (leader_ && !inquiry_.asks(static_cast<int>(i))) continue;
    const CandidateState& candidate = candidates_[i];
    if (candidate.link == CandidateLink::kGreeted) add(candidate.answer_by);
    const bool own = setup_.self.candidate == static_cast<int>(i);
    const bool dials = candidate.link == CandidateLink::kDown &&
                       (!own || candidate.view == CandidateView::kLeading);
    if (dials) add(candidate.dial_at);
  }
  if (leader_) return first;
  if (lead_at_) add(*lead_at_);
  if (const auto call = roll_call_.wake_at()) add(*call);
  if (setup_.self.candidate) add(awake_at_ + watchful(times_));
  return first;
}

}  // namespace muster::rendezvous
