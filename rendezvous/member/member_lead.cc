// A member as one of those who may lead: when it does, what it brings along, and who the others
// are.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/member/member_core.h"
#include "rendezvous/messages/round_report.h"

namespace muster::rendezvous {

namespace {

// It may have been refused or silent when we asked it, and is about to lead. No answer to what we
// ask it now: its question may have lain here while we were frozen.
void asked_by(TimePoint now, CandidateState& other) {
  other.seen = now;
  const bool known = other.view == CandidateView::kLeading || other.view == CandidateView::kUnasked;
  if (!known) other.view = CandidateView::kFollowing;
}

constexpr auto kToCome = std::chrono::seconds(1);

// Whoever has the lower number has the lower term, whatever place it has in a list.
uint64_t elected_term(uint64_t number) { return (number + 1) * kMaxCandidates; }

}  // namespace

void MemberCore::consider_leading(TimePoint now) {
  lead_at_.reset();
  if (!setup_.self.candidate || leave_by_ || outcome_) return;
  if (at(*setup_.self.candidate).view == CandidateView::kLeading) return;
  std::vector<CandidateView> views;
  std::vector<TimePoint> seen;
  for (const CandidateState& candidate : candidates_) {
    views.push_back(candidate.view);
    seen.push_back(candidate.seen);
  }
  const LeadDecision decision = decide_lead(
      now, {*setup_.self.candidate, setup_.candidates, views, seen, had_leader_, times_.lease});
  lead_at_ = decision.wake_at;
  if (!decision.lead) {
    // Of nodes that are started together one is always the first.
    const bool lasts = decision.wake_at && *decision.wake_at - now <= times_.lease - kToCome;
    if (lasts && awaited_.empty()) {
      awaited_ = decision.reason;
      log(log::Level::kInfo, kEventLeaderAwaited, awaited_);
    }
    const CandidateState& own = at(*setup_.self.candidate);
    const bool asking =
        std::any_of(candidates_.begin(), candidates_.end(), [&own](const auto& other) {
          return &other != &own && other.view == CandidateView::kUnasked;
        });
    asked_again_ = asked_again_ && asking;
    return;
  }
  // Answers are up to kLongestRetry old: an earlier candidate may have come since, or a network.
  const bool stale = *setup_.self.candidate != 0 || decision.uncertain;
  if (stale && !had_leader_ && !asked_again_) return ask_again(now);
  asked_again_ = false;
  become_leader(now, decision);
}

// An answer is as old as its question: what is on its way does not count either.
void MemberCore::ask_again(TimePoint now) {
  asked_again_ = true;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const int number = static_cast<int>(i);
    if (setup_.self.candidate == number) continue;
    CandidateState& candidate = candidates_[i];
    if (candidate.link != CandidateLink::kDown) {
      outputs_.push_back(member_output::CloseLink{number});
    }
    candidate.link = CandidateLink::kDown;
    candidate.view = CandidateView::kUnasked;
    candidate.dial_at = now;
  }
  dial(now);
}

// The links to the others are down while a leader is followed. A later question wants answers of
// its own: an earlier one may have been put before something happened.
void MemberCore::asked(TimePoint now, const leader_output::AskCandidates& question) {
  if (!leading_ || !leader_ || leader_ != setup_.self.candidate) return;
  for (const int number : std::exchange(inquiry_.open, {})) {
    CandidateLink& link = at(number).link;
    if (std::exchange(link, CandidateLink::kDown) != CandidateLink::kDown)
      outputs_.push_back(member_output::CloseLink{number});
  }
  inquiry_.answers = {.question = question.number};
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const int number = static_cast<int>(i);
    if (number == *leader_ || std::ranges::find(question.here, number) != question.here.end())
      continue;
    inquiry_.open.push_back(number);
    candidates_[i].dial_at = now;
  }
  if (inquiry_.open.empty()) outputs_.push_back(member_output::TellLeader{inquiry_.answers});
}

// What it knows of a later round is not taken in here, where a round may come at any time: the
// leader hands over, and all are asked anew by whoever leads next.
void MemberCore::refused_inquiry(TimePoint now, int candidate, const Refuse& refuse) {
  CandidateView view = CandidateView::kGone;  // ending, or no agent of this job
  if (refuse.code == RefuseCode::kNotLeader) {
    const RoundKey own = rounds_.last ? key_of(*rounds_.last) : RoundKey{};
    const bool knows_more =
        refuse.last.round > 0 && RoundKey{refuse.last.term, refuse.last.round} > own;
    const bool ours = refuse.leader == 0 || refuse.leader == setup_.self.identity.incarnation;
    view = ours && !knows_more ? CandidateView::kFollowing : CandidateView::kServed;
  }
  if (refuse.workers) inquiry_.answers.workers = true;
  drop_link(now, candidate, view, refuse.text);
}

void MemberCore::note_answer(int candidate, CandidateView view) {
  std::erase(inquiry_.open, candidate);
  if (view == CandidateView::kSilent) inquiry_.answers.silent = true;
  if (view == CandidateView::kServed || view == CandidateView::kLeading)
    inquiry_.answers.elsewhere = true;
  if (inquiry_.open.empty()) outputs_.push_back(member_output::TellLeader{inquiry_.answers});
}

Message MemberCore::answer(TimePoint now, const Hello& hello) {
  const LastRound round = last_round();
  if (auto refused = refusal(options_, hello)) {
    if (std::exchange(refused_, refused->text) != refused_) {
      log(log::Level::kWarning, kEventNodeRefused, refused_);
    }
    refused->last = round;
    return std::move(*refused);
  }
  if (hello.candidate && static_cast<size_t>(*hello.candidate) < candidates_.size()) {
    asked_by(now, at(*hello.candidate));
  }
  // Who has decided to lead, in this turn, is followed by itself.
  const uint64_t own = leading_ ? setup_.self.identity.incarnation : 0;
  const bool tells = setup_.source == CandidateSource::kRead && (leader_ || knows_round());
  Refuse none{RefuseCode::kNotLeader,
              "does not lead",
              leader_ ? leader_agent_ : own,
              round,
              rounds_.last && rounds_.last->workers,
              tells ? join(setup_.candidates, ",") : ""};
  if (!may_lead()) {
    none.code = RefuseCode::kClosed;
    none.text = "this agent is ending";
    none.leader = 0;
  } else if (!has_leader() && hello.candidate) {
    yielded_ = true;  // whatever its place, which may be another in its list
  }
  return none;
}

// Who knows nothing of the job, or less, remembers what others tell: it may lead next. While our
// workers of an earlier round are being stopped, our reports are of that one; but what the leader
// tells of a later one is kept. It is not said twice, and from then on the answers of that leader
// renew what proves that other nodes ended (evidence_from_): who knew of the earlier round alone
// would count those as gone who took the job on without it (found by the simulator, seed 8556).
void MemberCore::adopt(TimePoint now, const LastRound& last) {
  if (last.budget.restarts_charged > budget_.restarts_charged) keep_budget(now, last.budget);
  if (last.confirmed) rounds_.ran_everywhere({last.term, last.round});
  if (last.round == 0 || (in_round() && !leader_) || !rounds_.learn(last)) return;
  term_ = std::max(term_, last.term);
  if (!in_round()) adopt_later();
}

void MemberCore::adopt_later() {
  if (!rounds_.adopt_later()) return;
  failures_ = {};
}

// The leader of this process is not followed where another one is.
void MemberCore::yield_to(int candidate) {
  if (!leading_ || setup_.self.candidate == candidate) return;
  leading_ = false;
  at(*setup_.self.candidate).view = CandidateView::kFollowing;
  outputs_.push_back(member_output::StopLeading{"another leader was there first"});
}

// What this node read alone says nothing to others.
// False: there is nothing to take over.
bool MemberCore::take_leaders(const std::string& leaders) {
  if (setup_.source != CandidateSource::kRead || leaders.empty()) return false;
  if (leaders == join(setup_.candidates, ",")) return false;
  outputs_.push_back(member_output::TakeLeaders{leaders});
  return true;
}

std::string MemberCore::missing_leader() const {
  std::vector<std::string> problems;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const std::string& problem = candidates_[i].problem;
    problems.push_back(setup_.candidates[i] + (problem.empty() ? "" : " (" + problem + ")"));
  }
  return fmt::format("no leader within {}: {}", format_duration(options_.join_timeout),
                     join(problems, ", "));
}

LastRound MemberCore::last_round() const {
  const auto& last = rounds_.later ? rounds_.later : rounds_.last;
  if (!last)
    return {.round = 0, .term = term_, .node_count = 0, .confirmed = false, .budget = budget_};
  return {last->round, last->term, last->node_count, last->confirmed, budget_};
}

std::optional<TimePoint> MemberCore::evidence_until(TimePoint now) const {
  const bool proves = evidence_from_ && now < *evidence_from_ + times_.lease;
  return proves ? std::optional(*evidence_from_ + times_.lease) : std::nullopt;
}

// A silent leader is waited for as long as ends of others are evidence: whoever ends meanwhile,
// such as a node that was told to go, would count as alive for good. So they are asked until then.
void MemberCore::call_roll(TimePoint now) {
  if (!setup_.self.candidate || leading_ || !may_lead() || !evidence_until(now)) {
    roll_call_.end();
    return roll_call_.wait_until(TimePoint::max());
  }
  if (roll_call_.is_due(now)) {
    roll_call_.begin(rounds_.left(setup_.self.identity.incarnation), now + times_.suspect);
  }
  while (auto dial = roll_call_.next()) outputs_.push_back(std::move(*dial));
}

void MemberCore::dialed(TimePoint now, DialId dial, DialResult result) {
  const auto incarnation = roll_call_.answered(dial);
  const bool proves = result == DialResult::kRefused && !leader_ && evidence_until(now);
  if (!incarnation || !proves) return;
  if (const auto who = rounds_.note_end(*incarnation))
    log(log::Level::kWarning, kEventNodeLost,
        fmt::format("{} {}", describe(*who), kNothingListens));
}

// What this node brings along.
LeaderSeed MemberCore::leader_seed(TimePoint now) const {
  LeaderSeed seed;
  seed.term = term_;
  seed.name = setup_.self.identity.name;
  seed.incarnation = setup_.self.identity.incarnation;
  seed.yielded = yielded_;
  const auto [latest, confirmed] = rounds_.counted();
  if (latest != nullptr) seed.last_round = *latest;
  seed.leader_heard = words_.last();
  if (confirmed != nullptr) seed.confirmed_round = *confirmed;
  seed.ended = rounds_.ended;
  seed.budget = budget(now);
  seed.size = size_;
  seed.quiet = quiet();
  if (!had_leader_) seed.misfit = refused_;
  seed.evidence_until = evidence_until(now);
  return seed;
}

void MemberCore::become_leader(TimePoint now, const LeadDecision& decision) {
  term_ = next_term(term_, *setup_.self.candidate, setup_.self.identity.incarnation);
  ++fruitless_;
  LeaderSeed seed = leader_seed(now);
  seed.uncertain = decision.uncertain;
  if (setup_.source == CandidateSource::kTold) seed.candidates = candidates_.size();
  if (setup_.source == CandidateSource::kRead) seed.leaders = join(setup_.candidates, ",");
  const bool usual = !had_leader_ && !decision.uncertain;  // somebody has to be the first
  log(usual ? log::Level::kDebug : log::Level::kWarning, kEventLeaderTakeOver, decision.reason);
  leading_ = true;
  outputs_.push_back(member_output::BecomeLeader{std::move(seed)});
  CandidateState& own = at(*setup_.self.candidate);
  own.view = CandidateView::kLeading;
  own.link = CandidateLink::kDialling;
  outputs_.push_back(member_output::Dial{*setup_.self.candidate});
}

// While our workers run unfenced the last leader cannot have begun another round: it would have had
// to see them end, or to wait for a lease in which our fence would have come. Nor has it if it told
// so when it handed over, and nobody has led since then. Else whatever ran under an earlier leader,
// known to us or not, is over in a lease from now.
void MemberCore::elected(TimePoint now, const Election& election) {
  if (leader_ || !may_lead() || at(0).link != CandidateLink::kDialling) return;
  term_ = std::max(elected_term(term_ / kMaxCandidates), elected_term(election.number));
  LeaderSeed seed = leader_seed(now);
  const bool current = in_round() && rounds_.last && rounds_.last->workers && !rounds_.later;
  const bool runs = current && fence_reason_.empty();
  const bool told = election.after != 0 && rounds_.ended_with(elected_term(election.after));
  seed.elected_safe_at = election.first || runs || told ? now : now + times_.lease;
  log(election.first ? log::Level::kDebug : log::Level::kWarning, kEventLeaderTakeOver,
      fmt::format("elected, term {}", term_));
  outputs_.push_back(member_output::BecomeLeader{std::move(seed)});
  outputs_.push_back(member_output::Dial{0});
}

bool MemberCore::set_candidates(TimePoint now, std::vector<std::string> candidates,
                                std::optional<int> own, std::optional<int> port) {
  MUSTER_CHECK(!candidates.empty() && candidates.size() <= kMaxCandidates);
  if (leader_) return false;
  setup_.self.port = port.value_or(setup_.self.port);
  // What was asked of the caller and not carried out yet is about the old list.
  std::erase_if(outputs_, [](const MemberOutput& output) {
    return std::holds_alternative<member_output::BecomeLeader>(output) ||
           std::holds_alternative<member_output::Dial>(output) ||
           std::holds_alternative<member_output::CloseLink>(output) ||
           std::holds_alternative<member_output::Send>(output);
  });
  // A node that may lead alone leads again in the moment in which it hears of another leader.
  if (std::exchange(leading_, false))
    outputs_.push_back(member_output::StopLeading{"others may lead than was known"});
  const auto names = std::exchange(setup_.candidates, std::move(candidates));
  const auto known = std::exchange(candidates_, {});
  setup_.self.candidate = own;
  for (const std::string& name : setup_.candidates) {
    CandidateState& candidate = candidates_.emplace_back();
    candidate.seen = candidate.dial_at = now;
    // A leader that was lost is silent since then, not since the list was read.
    const auto same = std::find(names.begin(), names.end(), name) - names.begin();
    if (static_cast<size_t>(same) >= known.size()) continue;
    candidate.seen = known[static_cast<size_t>(same)].seen;
    candidate.met = known[static_cast<size_t>(same)].met;
  }
  asked_again_ = false;
  roll_call_.wait_until(now + times_.suspect);  // this node may lead now
  return true;
}

}  // namespace muster::rendezvous
