#include "rendezvous/leader/leader.h"

#include <fmt/core.h>

#include <algorithm>

#include "rendezvous/agreement/events.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

namespace {

using std::chrono::milliseconds;

constexpr size_t kNamedJoins = 64;  // nodes that are announced by name when they come

// The node that launches, beside the one that joins. Who is silent may have been replaced by it.
const LeaderNode* other_launcher(const NodeTable& nodes, const Join& join) {
  if (join.node_rank != 0) return nullptr;
  const auto other = std::ranges::find_if(nodes, [&join](const LeaderNode* node) {
    return node->incarnation() != join.identity.incarnation && node->join.node_rank == 0 &&
           node->link() && !node->suspect;
  });
  return other == nodes.end() ? nullptr : *other;
}

// Of the two that it tells of; where a job was begun anew the order of their numbers says nothing.
RoundKey newest_in(const Join& join) {
  RoundKey newest;
  for (const auto* told : {&join.last_round, &join.confirmed_round}) {
    if (*told) newest = std::max(newest, key_of(**told));
  }
  return newest;
}

// What a worker of one node decided. Whoever leads next hears of it from any, though that node may
// have led and be gone.
void tell_others(const Decided& decided, const LeaderNode& by, const NodeTable& nodes,
                 LeaderVoice& voice) {
  for (const LeaderNode* other : nodes) {
    if (other != &by && other->rank() >= 0 && other->link())
      voice.put(leader_output::Send{*other->link(), decided});
  }
}

// To a node that may lead next and knows of fewer restarts. It answers no question: the numbers of
// those begin with 1.
void tell_budget(uint64_t round, const BudgetState& budget, const LeaderNode& node,
                 LeaderVoice& voice) {
  if (!node.link() || node.join.budget.restarts_charged >= budget.restarts_charged) return;
  MayRestart told;
  told.round = round;
  told.budget = budget;
  voice.put(leader_output::Send{*node.link(), told});
}

// The newest that the sender knows of, as far as it says.
uint64_t round_in(const Message& message) {
  if (const auto* beat = std::get_if<Heartbeat>(&message)) return beat->round;
  if (const auto* started = std::get_if<Started>(&message)) return started->round;
  const auto* done = std::get_if<Succeeded>(&message);
  return done != nullptr ? done->round : 0;
}

}  // namespace

LeaderCore::LeaderCore(TimePoint now, const JobOptions& options, RoundPolicy& policy,
                       LeaderSeed seed)
    : voice_(seed.quiet),
      term_(seed.term),
      options_(options),
      policy_(policy),
      times_(lease_times(options.lease)),
      settings_(all_settings(options)),
      names_{std::move(seed.name), std::move(seed.leaders)},
      own_(seed.incarnation),
      candidates_(seed.candidates),
      uncertain_(seed.uncertain),
      yielded_(seed.yielded),
      evidence_until_(seed.evidence_until),
      elected_safe_at_(seed.elected_safe_at),
      not_before_(now),
      gathering_since_(now),
      began_(now),
      quorum_lost_(now) {
  if (seed.confirmed_round) electorates_.learn(*seed.confirmed_round, own_);
  if (seed.last_round) {
    electorates_.learn(*seed.last_round, own_);
    lost_at_ = now;
  }
  for (const EndedNodes& nodes : seed.ended) electorates_.mark_ended(nodes, now);
  // All were asked just before, of a list that does not change.
  if (uncertain_ && !seed.last_round && candidates_ > 0) inquiry_.answered(now);
  misfit_ = std::move(seed.misfit);
  last_size_ = static_cast<int>(electorates_.latest.seats.size());
  newest_round_ = electorates_.latest.round;
  take_budget(now, seed.budget);
  target_.learn(seed.size, options_);
  voice_.log(log::Level::kDebug, kEventLeaderBegin,
             fmt::format("term {}, after round {}", term_, electorates_.latest.round));
  const TimePoint left = std::min(seed.leader_heard.value_or(now), now);
  voice_.put(first_state(now, electorates_.latest.round, left));
}

void LeaderCore::message(TimePoint now, LinkId link, const Message& message) {
  if (stepped_down_) return;
  if (const auto* greeting = std::get_if<Hello>(&message)) return hello(now, link, *greeting);
  if (const auto* request = std::get_if<Join>(&message)) return join(now, link, *request);
  const auto found = links_.find(link);
  if (found == links_.end()) {
    return refuse(link, RefuseCode::kBadJoin,
                  fmt::format("'{}' before joining the job", name_of(message)));
  }
  from_node(now, *found->second, message);
}

void LeaderCore::hello(TimePoint now, LinkId link, const Hello& hello) {
  if (auto refused = refusal(options_, settings_, hello)) {
    misfit_ = refused->text;
    return refuse(link, refused->code, std::move(refused->text));
  }
  std::string notice = settings_notice(settings_, hello);
  if (!notice.empty()) voice_.say_when_changed(kEventJobSettings, notice);
  // Nobody follows a leader older than one it knew; our next round outranks that one's.
  if (hello.term > term_) {
    term_ = next_term(hello.term, static_cast<int>(term_ % kMaxCandidates), own_);
  }
  greeted_[link] = now;
  look_at_ = std::min(look_at_, now + times_.lease);
  voice_.put(leader_output::Send{
      link, Welcome{kControlVersion, options_.run_id, options_.secured, term_, names_.node,
                    std::chrono::duration_cast<milliseconds>(options_.lease).count(),
                    to_ms(now - began_), std::move(notice), own_, names_.leaders}});
}

void LeaderCore::join(TimePoint now, LinkId link, const Join& join) {
  const auto greeting = greeted_.find(link);
  if (greeting == greeted_.end()) {
    return refuse(link, RefuseCode::kBadJoin, "'join' without 'hello', or twice");
  }
  if (join.leader != 0 && join.leader != own_)
    return refuse(link, RefuseCode::kBadJoin, "the join is for another leader");
  const TimePoint greeted = greeting->second;
  greeted_.erase(greeting);
  const bool full = nodes_.size() >= static_cast<size_t>(kMaxNodes);
  if (full && !nodes_.contains(join.identity.incarnation)) {
    return refuse(link, RefuseCode::kBadJoin, fmt::format("{} nodes are the limit", kMaxNodes));
  }
  if (const RoundKey known = newest_in(join); busy() && electorates_.latest.key() < known) {
    refuse(link, RefuseCode::kNotLeader, "a later round exists");
    return hand_over(
        fmt::format("{} was in round {}, later than ours", describe(join.identity), known.round));
  }
  const uint64_t incarnation = join.identity.incarnation;
  const auto before = places_.last_at(join);
  const LeaderNode* here = nodes_.find(incarnation);
  if (here == nullptr && before) here = nodes_.find(*before);
  // It had given up that link, or was over, before the later hello was said.
  if (here != nullptr && greeted < here->greeted)
    return refuse(link, RefuseCode::kBadJoin, "an older join");
  // A pod that came back at its own address: what ran there before is gone.
  std::vector<uint64_t> replaced;
  if (before && *before != incarnation) replaced.push_back(*before);
  // Who sits there already has replaced nobody; a large job that comes back is not looked through.
  const bool seated = electorates_.latest.find(incarnation) != nullptr;
  for (const ElectorSeat& seat : electorates_.latest.seats) {
    if (seated) break;
    const bool same =
        seat.who && seat.who->port == join.port && seat.who->host == join.host && !seat.gone;
    if (same) replaced.push_back(seat.incarnation);
  }
  for (const uint64_t former : replaced) lost(now, former, true, "was started again");
  const LeaderNode* other = options_.rule.has_appointed() ? other_launcher(nodes_, join) : nullptr;
  if (other != nullptr) {
    misfit_ = fmt::format("{} starts the ranks as well as {}: a job has one launcher",
                          describe(join.identity), describe(other->join.identity));
    return refuse(link, RefuseCode::kSettings, misfit_);
  }

  const auto [added, fresh] = nodes_.add(incarnation);
  LeaderNode& node = *added;
  if (!fresh) places_.leave(node.join);
  if (node.link()) {
    links_.erase(*node.link());
    voice_.put(leader_output::CloseLink{*node.link(), "joined again"});
  }
  node.join = join;
  names_.job.learn(join.job, newest_in(join));
  node.set_link(link);
  node.heard = now;
  node.greeted = node.in_touch = greeted;  // it came after our Welcome
  node.came_over = now - std::chrono::milliseconds(join.former_leader_ms.value_or(0));
  node.told.reset();
  node.unacknowledged.reset();
  links_[link] = &node;
  places_.take(join, nodes_, electorates_.latest);
  if (fresh) {
    node.joined_at = last_joined_ = now;
    // Of a large job round.waiting tells how many there are.
    const std::string name = describe(join.identity);
    if (nodes_.size() > kNamedJoins) {
      voice_.log(log::Level::kDebug, kEventNodeJoined, name);
    } else {
      joined_ += (joined_.empty() ? "" : ", ") + name;
    }
  }
  dirty_ = quorum_stale_ = true;
  look_at_ = std::min(look_at_, std::min(now + times_.suspect, greeted + times_.touch));
  if (join.last_round) newest_round_ = std::max(newest_round_, join.last_round->round);
  take_budget(now, join.budget);
  target_.learn(join.size, options_);
  absorb(now, node);
  resume(now, node);
  // An earlier leader has told it to.
  if (!ending_.stop_asked && !join.stop.empty()) {
    ending_.stop_asked = join.stop;
    for (const LeaderNode* each : nodes_) send(*each, Quit{join.stop});
  } else if (ending_.stop_asked) {
    send(node, Quit{*ending_.stop_asked});
  }
}

// The own node, in the rounds to come.
void LeaderCore::moved(const std::string& host) {
  LeaderNode* own = nodes_.find(own_);
  if (own == nullptr) return;
  places_.leave(own->join);
  own->join.host = host;
  places_.take(own->join, nodes_, electorates_.latest);
}

// What the node knows of earlier rounds; after a take-over all that is known comes from here.
void LeaderCore::absorb(TimePoint now, LeaderNode& node) {
  const uint64_t incarnation = node.incarnation();
  if (node.join.confirmed_round) electorates_.learn(*node.join.confirmed_round, incarnation);
  const auto& report = node.join.last_round;
  if (report && !busy()) {
    const RoundKey before = electorates_.latest.key();
    electorates_.learn(*report, incarnation);
    if (electorates_.latest.key() != before) ending_.decision.reset();
    last_size_ = static_cast<int>(electorates_.latest.seats.size());
    if (!lost_at_) lost_at_ = now;
  }
  if (report) {
    node.rounds.accepted = std::max(node.rounds.accepted, key_of(*report));
    node.rounds.knows = std::max(node.rounds.knows, key_of(*report));
  }
  for (const EndedNodes& nodes : node.join.ended) electorates_.mark_ended(nodes, now);
  electorates_.mark_heard(incarnation, now);
  for (const auto* seated : {&node.join.last_round, &node.join.confirmed_round}) {
    const bool counts = *seated && (*seated)->node_rank >= 0 && (*seated)->round > 0 &&
                        (key_of(**seated) == electorates_.latest.key() ||
                         (*seated)->round == electorates_.confirmed.round);
    if (counts && !node.seat) node.seat = (*seated)->seat;
  }
  if (report && key_of(*report) == electorates_.latest.key() && report->decision) {
    const bool news = !ending_.decision && busy();
    ending_.decision = report->decision;
    if (news) tell_others({report->round, *report->decision}, node, nodes_, voice_);
  }
  if (report && key_of(*report) == electorates_.latest.key() && !node.join.failures.empty()) {
    failed(now, node, report->round, node.join.failures);
  }
}

// Brings the node and the round back together after its link was lost.
void LeaderCore::resume(TimePoint now, LeaderNode& node) {
  if (state_ == LeaderState::kFinished) return send(node, unused_.end_for(node, aged(now, *end_)));
  const auto& report = node.join.last_round;
  const bool current = busy() && node.rank() >= 0;
  const bool knows = report && key_of(*report) == electorates_.latest.key();
  if (current && knows) {
    // What the others were told while this one had no link, and must know if it leads next.
    if (ending_.decision && !report->decision)
      send(node, Decided{electorates_.latest.round, *ending_.decision});
    if (elected_safe_at_ || node.join.candidate)
      tell_budget(electorates_.latest.round, budget(now), node, voice_);
    if (report->succeeded) {
      node.set_progress(NodeProgress::kSucceeded);
    } else if (!report->workers) {
      // What it failed of is no loss, though it was told on a new link; nor is what it was told.
      const bool failed = !node.join.failures.empty() && ending_.cause == BreakCause::kFailure;
      const bool ran =
          node.progress() == NodeProgress::kAssigned || node.progress() == NodeProgress::kStarted;
      const bool ordered = state_ == LeaderState::kStopping && !ran;
      node.set_progress(NodeProgress::kIdle);
      if (!failed && !ordered)
        break_round(now, BreakCause::kLost,
                    describe(node.join.identity) + " ended its workers while it had no leader");
    } else if (state_ == LeaderState::kStopping) {
      node.set_progress(NodeProgress::kEnding);
      send(node, Stop{electorates_.latest.round, 0, ending_.text, ending_.all_leave});
    }
    return;
  }
  if (current) {
    // The assignment was lost on the way: nothing of this round runs there.
    node.set_progress(NodeProgress::kIdle);
    if (state_ != LeaderState::kStopping)
      break_round(now, BreakCause::kLost, describe(node.join.identity) + " missed its assignment");
  }
  if (node.progress() == NodeProgress::kEnding) node.set_progress(NodeProgress::kIdle);
  if (knows && report->succeeded) node.set_progress(NodeProgress::kSucceeded);
  newcomers_.push_back(node.incarnation());
  if (report && report->workers) {
    node.set_progress(NodeProgress::kEnding);
    const std::string why = stop_text(*report, electorates_.latest, names_.node);
    if (knows && ending_.text.empty()) ending_.text = why;
    const auto grace = std::chrono::duration_cast<milliseconds>(
        report->intact ? options_.stop_grace : options_.lost_grace);
    send(node, Stop{report->round, grace.count(), why, false, busy()});
  }
}

void LeaderCore::from_node(TimePoint now, LeaderNode& node, const Message& message) {
  const uint64_t incarnation = node.incarnation();
  const uint64_t round = electorates_.latest.round;
  node.heard = now;
  electorates_.mark_heard(incarnation, now);
  if (node.suspect) voice_.log(log::Level::kInfo, kEventNodeBack, describe(node.join.identity));
  node.suspect = false;
  // One that knows another round of this number has said so when it joined.
  if (round_in(message) == round && !electorates_.latest.confirmed &&
      node.rounds.knows.round != round && node.rounds.accepted == electorates_.latest.key()) {
    node.rounds.knows = node.rounds.accepted;
    dirty_ = true;
  }
  if (const auto* beat = std::get_if<Heartbeat>(&message)) {
    const TimePoint after = began_ + milliseconds(beat->echo_ms);
    // Made when it was sent, which is known from below alone: a network may have held it back.
    if (node.rank() >= 0) step(now, std::min(after, now), beat->round, beat->step);
    // Whoever was out of touch counts again.
    quorum_stale_ = quorum_stale_ || now - node.in_touch >= times_.touch;
    if (after <= now) node.in_touch = std::max(node.in_touch, after);
    // It may have known another round of the same number; what it answered came after ours.
    const bool aware = node.told && node.told->spare && node.told->round == beat->round &&
                       after > node.told->at && node.rounds.knows != node.rounds.accepted;
    if (aware && !electorates_.latest.confirmed) {
      node.rounds.knows = node.rounds.accepted;
      dirty_ = true;
    }
    if (!std::exchange(node.unacknowledged, beat->sequence)) acks_.push_back(*node.link());
    dirty_ = dirty_ || !quorum_since_;
    if (incarnation == own_) look_with_own_beat(now);
    return;
  }
  if (const auto* part = std::get_if<Contribution>(&message)) return contributed(node, *part);
  if (const auto* lone = std::get_if<LoneFailure>(&message)) return lone_failed(now, node, *lone);
  dirty_ = true;
  if (const auto* started = std::get_if<Started>(&message)) {
    if (started->round == round && node.progress() == NodeProgress::kAssigned) {
      node.set_progress(NodeProgress::kStarted);
    }
  } else if (const auto* done = std::get_if<Succeeded>(&message)) {
    // Of a former leader's round its workers may all have ended well before they could be stopped.
    const bool former = node.rank() < 0 && node.progress() == NodeProgress::kEnding;
    const bool ours = done->round == round && (node.rank() >= 0 || former);
    if (ours || former) node.set_progress(ours ? NodeProgress::kSucceeded : NodeProgress::kIdle);
  } else if (const auto* decided = std::get_if<Decided>(&message)) {
    if (decided->round != round || node.rank() < 0) return;
    ending_.decision = decided->decision;
    tell_others(*decided, node, nodes_, voice_);
  } else if (const auto* failure = std::get_if<Failed>(&message)) {
    if (failure->round == round) node.set_progress(NodeProgress::kEnding);
    failed(now, node, failure->round, failure->failures);
  } else if (const auto* stopped = std::get_if<Stopped>(&message)) {
    if (node.rank() >= 0 && stopped->round != round) return;  // of an earlier round, and late
    if (node.progress() != NodeProgress::kSucceeded) node.set_progress(NodeProgress::kIdle);
    if (busy() && state_ != LeaderState::kStopping && node.rank() >= 0 &&
        node.progress() == NodeProgress::kIdle) {
      break_round(now, node.leave_by() ? BreakCause::kPreempted : BreakCause::kLost,
                  end_text(node));
    }
  } else if (const auto* going = std::get_if<Leaving>(&message)) {
    leaving(now, node, *going);
  } else if (const auto* bye = std::get_if<Goodbye>(&message)) {
    lost(now, incarnation, true, "left: " + bye->reason);
    const bool intact = state_ == LeaderState::kRunning;  // nobody waits for the node that left
    if (incarnation == own_ && state_ != LeaderState::kFinished)
      hand_over("its node leaves", intact);
  }
}

// No decision depends on it: all are told what all gave.
void LeaderCore::contributed(const LeaderNode& node, const Contribution& part) {
  if (!busy() || node.rank() < 0 || part.round != electorates_.latest.round) return;
  const auto outcome = exchange_.add(static_cast<size_t>(node.rank()), part);
  if (outcome == ExchangeTable::Outcome::kNothing) return;
  for (const LeaderNode* other : nodes_) {
    const bool told = outcome == ExchangeTable::Outcome::kComplete ? other->rank() >= 0
                                                                   : other->rank() == node.rank();
    if (told && other->link())
      voice_.put(leader_output::SendAnswer{*other->link(), exchange_.answer()});
  }
}

void LeaderCore::leaving(TimePoint now, LeaderNode& node, const Leaving& leaving) {
  if (node.leave_by()) return;
  // Half of the time to save while the workers run, half to stop them.
  const Duration half = milliseconds(leaving.grace_ms / 2);
  node.set_leave_by(now + half);
  ending_.leave_grace = nodes_.counts().leaving > 1 ? std::min(ending_.leave_grace, half) : half;
  node.leave_reason = leaving.reason;
  voice_.log(log::Level::kWarning, kEventNodeLeaving, leaving_text(node, leaving));
  if (!busy() || node.rank() < 0) return;
  ++ending_.leavers;
  if (!ending_.leaving_since) ending_.leaving_since = now;
  if (state_ == LeaderState::kStopping) return;  // who is being stopped has its time
  for (const LeaderNode* other : nodes_) {
    if (other->rank() < 0 || other == &node) continue;
    send(*other, Notice{electorates_.latest.round, node.join.identity.name, leaving.grace_ms});
  }
}

void LeaderCore::link_closed(TimePoint /*now*/, LinkId link) {
  greeted_.erase(link);
  const auto found = links_.find(link);
  if (found == links_.end()) return;
  LeaderNode& node = *found->second;
  links_.erase(found);
  node.set_link(std::nullopt);
  dirty_ = quorum_stale_ = true;
  voice_.put(roll_call_.ask({node.join.identity, node.join.host, node.join.port}));
}

// Another leader judged failures and set a pause: neither is done twice.
void LeaderCore::take_budget(TimePoint now, const BudgetState& budget) {
  // Of a round that nobody was in nothing was judged, and of the one that runs only here.
  if (!busy() && budget.judged_round > ending_.settled_round &&
      budget.judged_round <= newest_round_) {
    ending_.settled_round = budget.judged_round;
    const Duration pause = std::min<Duration>(milliseconds(budget.pause_ms), kMaxReportedPause);
    not_before_ = std::max<TimePoint>(not_before_, now + pause);
  }
  changes_.take(budget);
  policy_.restore(now, budget);
}

BudgetState LeaderCore::budget(TimePoint as_of) const {
  BudgetState budget = policy_.budget(as_of);
  const auto pause = std::chrono::duration_cast<milliseconds>(not_before_ - as_of);
  budget.judged_round = ending_.settled_round;
  budget.pause_ms = std::max<int64_t>(pause.count(), 0);
  changes_.put_into(budget);
  return budget;
}

LastRound LeaderCore::last_round(const Electorate& ran) const {
  // Ages as of then are too young rather than too old: a restart counts longer, never shorter.
  return {ran.round, ran.term, static_cast<int>(ran.seats.size()), ran.confirmed,
          budget(gathering_since_)};
}

void LeaderCore::refuse(LinkId link, RefuseCode code, std::string text) {
  voice_.log(log::Level::kWarning, kEventNodeRefused, text);
  voice_.put(leader_output::Send{link, Refuse{code, text, 0, last_round(electorates_.latest)}});
  voice_.put(leader_output::CloseLink{link, std::move(text)});
}

void LeaderCore::send(const LeaderNode& node, Message message) {
  if (node.link()) voice_.put(leader_output::Send{*node.link(), std::move(message)});
}

Leader::Leader(TimePoint now, const JobOptions& options, RoundPolicy& policy, LeaderSeed seed)
    : core_(std::make_unique<LeaderCore>(now, options, policy, std::move(seed))) {}
Leader::~Leader() = default;

void Leader::on_message(TimePoint now, LinkId link, const Message& message) {
  core_->message(now, link, message);
}
void Leader::on_link_closed(TimePoint now, LinkId link, std::string misfit) {
  if (core_->misfit_.empty()) core_->misfit_ = std::move(misfit);  // a node's own words tell more
  core_->link_closed(now, link);
}
void Leader::on_candidates(TimePoint now, CandidateAnswers answers) {
  core_->answered(now, answers);
}
void Leader::on_own_host(const std::string& host) { core_->moved(host); }
std::optional<TimePoint> Leader::next_deadline() const { return core_->deadline(); }
std::vector<LeaderOutput> Leader::take_outputs(TimePoint now) {
  core_->evaluate(now);
  return core_->voice_.take();
}
void Leader::perform_outputs(TimePoint now, const Perform& perform) {
  perform_answers(perform);
  core_->voice_.pass_to(&perform);
  core_->evaluate(now);
  core_->voice_.pass_to(nullptr);
}
void Leader::perform_answers(const Perform& perform) {
  for (LeaderOutput& output : core_->voice_.take()) perform(std::move(output));
}
LeaderState Leader::state() const { return core_->state_; }
uint64_t Leader::round() const { return core_->electorates_.latest.round; }
uint64_t Leader::term() const { return core_->term_; }

}  // namespace muster::rendezvous
