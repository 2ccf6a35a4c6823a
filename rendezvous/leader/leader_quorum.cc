// Who may go on: whether enough nodes of the last round are with this leader, and who else may
// lead.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "rendezvous/agreement/events.h"
#include "rendezvous/agreement/replacement.h"
#include "rendezvous/leader/leader_core.h"
#include "rendezvous/leader/leader_texts.h"

namespace muster::rendezvous {

namespace {

bool is_here(TimePoint now, const LeaderNode& node, const LeaseTimes& times) {
  return node.link() && now - node.in_touch < times.touch;
}

// Since when they are here who may lead, by their numbers. None: somebody was told of more of them.
std::optional<std::map<int, TimePoint>> leaders_here(TimePoint now, const NodeTable& nodes,
                                                     size_t candidates, const LeaseTimes& times) {
  std::map<int, TimePoint> here;
  for (const LeaderNode* node : nodes) {
    const auto& candidate = node->join.candidate;
    if (!candidate || !is_here(now, *node, times)) continue;
    if (static_cast<size_t>(*candidate) >= candidates) return std::nullopt;
    TimePoint& since = here[*candidate];
    since = std::max(since, node->greeted);
  }
  return here;
}

// Since when all are here who may lead; none = one of them may lead elsewhere.
std::optional<TimePoint> leaders_here_since(TimePoint now, const NodeTable& nodes,
                                            size_t candidates, const LeaseTimes& times) {
  const auto here = leaders_here(now, nodes, candidates, times);
  if (!here || here->size() < candidates || candidates == 0) return std::nullopt;
  TimePoint since;
  for (const auto& [candidate, greeted] : *here) since = std::max(since, greeted);
  return since;
}

// Of those here: who has followed another leader.
int count_those_of_others(TimePoint now, const NodeTable& nodes, const LeaseTimes& times) {
  return static_cast<int>(std::ranges::count_if(nodes, [&](const LeaderNode* node) {
    return is_here(now, *node, times) && node->join.former_leader_ms;
  }));
}

}  // namespace

// Whether missing nodes count as gone because others have come to their places (replacement.h).
// Elected leaders and launchers that outlive their nodes need no such rule.
bool LeaderCore::replace_missing(TimePoint now) {
  if (elected_safe_at_ || options_.rule.leader_alone()) return false;
  const LeaderNode* own = nodes_.find(own_);
  if (own == nullptr) return false;
  const bool appointed = options_.rule.has_appointed();
  const auto since = appointed ? std::optional(own->greeted)
                               : leaders_here_since(now, nodes_, candidates_, times_);
  if (!since) return false;
  ReplacementFacts facts{.leaders_since = *since,
                         .here = {},
                         .launcher = appointed ? &own->join : nullptr,
                         .knows = [this](uint64_t node) { return nodes_.contains(node); }};
  for (const LeaderNode* node : nodes_) {
    if (!is_here(now, *node, times_)) continue;
    facts.here.push_back({node->incarnation(), &node->join, node->came_over,
                          node->progress() == NodeProgress::kSucceeded});
  }
  const auto safe = mark_replaced(now, electorates_, facts, options_);
  if (safe) safe_at_ = std::max(safe_at_, *safe);
  return safe.has_value();
}

std::vector<PresentNode> LeaderCore::present(TimePoint now) const {
  std::vector<PresentNode> nodes;
  nodes.reserve(nodes_.size());
  for (const LeaderNode* node : nodes_) {
    if (is_here(now, *node, times_))
      nodes.push_back({node->incarnation(), node->rounds.accepted, node->came_over});
  }
  return nodes;
}

Quorum LeaderCore::count_quorum(TimePoint now) {
  if (elected_safe_at_) return {true, [] { return "elected"; }};
  // Who else could launch is one of those who may lead. None did since the own node launched last,
  // unless that yielded; else each of them has to answer, or to refuse to, also before each round.
  if (options_.rule.leader_alone() && electorates_.latest.round > 0) {
    vacant_ = formed_ != electorates_.latest.key();
    const bool launched = electorates_.latest.find(own_) != nullptr && !yielded_;
    return {!uncertain_ || launched, [] { return "the last launcher's node may be alive"; }};
  }
  Quorum last{.enough = true, .reason = [] { return "no round before"; }, .vacant = true};
  if (electorates_.latest.round > 0) last = decide_quorum(electorates_, present(now));
  vacant_ = last.vacant;
  // A first round that does not run everywhere yet keeps nobody from another one who has not heard
  // of it: until then what it was formed with is needed.
  if (!uncertain_ || !last.enough || binds(electorates_)) return last;
  const auto leaders = leaders_here(now, nodes_, candidates_, times_);
  if (candidates_ > 0 && leaders && leaders->size() >= candidates_) return last;
  auto here = static_cast<int>(present(now).size());
  // A launcher goes on without the nodes that its leader has counted and that came over since.
  if (options_.rule.leader_alone()) here -= count_those_of_others(now, nodes_, times_);
  Quorum first = decide_first_quorum(here, most_nodes(options_), options_.min_nodes);
  // More nodes may have been started than that.
  if (!first.enough || !leaders || candidates_ == 0) return first;
  std::vector<NodeFate> fates(candidates_);
  for (const auto& [candidate, since] : *leaders)
    fates.at(static_cast<size_t>(candidate)).fate = Fate::kPresent;
  const auto reason = [here = leaders->size(), listed = candidates_] {
    return fmt::format("{} of the {} listed endpoints here, and another may lead elsewhere", here,
                       listed);
  };
  return {decide_quorum(0, fates).enough, reason};
}

void LeaderCore::check_quorum(TimePoint now) {
  if (quorum_since_ && !quorum_stale_) return;
  quorum_stale_ = false;
  // Who was replaced counts as gone as long as all are here who may lead; for good once a round has
  // formed.
  if (!busy()) {
    safe_at_ = {};
    electorates_.forget_replaced();
  }
  Quorum quorum = count_quorum(now);
  if (!quorum.enough && replace_missing(now)) quorum = count_quorum(now);
  if (quorum.enough) {
    if (voice_.speak_up()) {
      voice_.log(log::Level::kDebug, kEventLeaderBegin,
                 fmt::format("term {}, now with {}", term_, quorum.reason()));
    }
    voice_.forget(kEventQuorumMissing);
    if (!quorum_since_) quorum_since_ = now;
    return;
  }
  if (quorum_since_) quorum_lost_ = now;
  quorum_since_.reset();
  const std::string reason = quorum.reason() + who_may_live(nodes_, electorates_.latest);
  // Its own node joins in a moment, and is none that is not seen. Where many are lost one after the
  // other not each of them is told.
  const bool may_say = nodes_.contains(own_) && now >= quorum_said_ + times_.heartbeat;
  if (may_say && voice_.say_when_changed(kEventQuorumMissing, reason)) quorum_said_ = now;
  if (now < quorum_lost_ + times_.lease) return wake(quorum_lost_ + times_.lease);
  if (state_ != LeaderState::kFinished) hand_over("no quorum for a lease: " + reason);
}

// Who was refused when this leader began may have come since, out of its reach, and lead others.
// Where no nodes of a round before keep it from that (a launcher that outlives them needs none),
// all are asked who may lead and are not here.
bool LeaderCore::others_asked(TimePoint now) {
  if (!vacant_ || elected_safe_at_) return true;
  if (inquiry_.is_answered(now, times_.touch)) return true;
  // Who asks for it; it comes in a moment.
  if (const LeaderNode* own = nodes_.find(own_); own == nullptr || !own->link()) return false;
  if (leaders_here_since(now, nodes_, candidates_, times_)) return true;
  if (const auto at = inquiry_.ask_at(); !at || now >= *at) {
    ask_others(now);
    inquiry_.await(now + times_.lease);
  }
  wake(*inquiry_.ask_at());
  return false;
}

// While nodes are missing, and no round keeps others from one, they may be with a leader that began
// when this one was cut off. Neither would ever look for the other, and this one end with 69 (found
// by the simulator, seed 51373).
void LeaderCore::look_for_others(TimePoint now) {
  if (!vacant_ || elected_safe_at_) return;
  if (const TimePoint next = inquiry_.next_look(began_, times_.lease); now < next)
    return wake(next);
  inquiry_.look(now);
  wake(now + times_.lease);
  if (!leaders_here_since(now, nodes_, candidates_, times_)) ask_others(now);
}

void LeaderCore::ask_others(TimePoint now) {
  leader_output::AskCandidates question;
  question.number = inquiry_.begin();
  // Spares can have begun without those who are here.
  question.all_here = static_cast<int>(joiners_.size()) >= most_nodes(options_);
  // In a list that each node read by itself the same place may be another node's.
  const auto leaders = leaders_here(now, nodes_, candidates_, times_);
  if (candidates_ > 0 && leaders)
    for (const auto& [candidate, since] : *leaders) question.here.push_back(candidate);
  voice_.put(std::move(question));
}

void LeaderCore::answered(TimePoint now, CandidateAnswers answers) {
  if (stepped_down_ || !inquiry_.is_current(answers.question)) return;
  const bool waits = !busy() && state_ != LeaderState::kFinished;
  // Of a look for others nothing else counts: a round needs younger answers.
  if (!inquiry_.ask_at()) {
    if (waits && answers.elsewhere) hand_over("another of those who may lead has a leader");
    return;
  }
  if (answers.workers && options_.rule.leader_alone()) {
    // Its launcher may run, until it has come here or ended.
    inquiry_.await(now + times_.heartbeat);
  } else {
    inquiry_.answered(now);
  }
  if (!waits) return;
  uncertain_ = uncertain_ || answers.silent;
  dirty_ = quorum_stale_ = true;
  if (answers.elsewhere) hand_over("another of those who may lead has a leader");
}

// A first round of fewer than all gives nodes of a job that this leader does not remember the time
// to find out that theirs is gone (MemberCore::unheard_until) and to tell of it.
bool LeaderCore::may_be_partial(TimePoint now) {
  constexpr Duration kToGetHere = std::chrono::seconds(1);
  const size_t here = options_.rule.leader_alone() ? joiners_.size() : decision_.members.size();
  const bool all = static_cast<int>(here) >= options_.max_nodes;
  const TimePoint from = began_ + times_.suspect + times_.heartbeat + kToGetHere;
  if (electorates_.latest.round > 0 || all || now >= from) return true;
  wake(from);
  return false;
}

void LeaderCore::hand_over(const std::string& reason, bool intact) {
  if (stepped_down_) return;
  const Electorate& round = electorates_.latest;
  const Handover brief{round.key(), {}, reason, round.confirmed, intact};
  Handover full = brief;
  full.ended = electorates_.ended();
  for (const LeaderNode* node : nodes_) send(*node, node->join.candidate ? full : brief);
  voice_.log(log::Level::kWarning, kEventLeaderEnd, reason);
  stepped_down_ = true;
  voice_.put(leader_output::StepDown{reason});
}

// The round leaves a node of the last confirmed one out, which has not said that it knows. For a
// lease since its last word it may take ends of others for those of members of that one
// (LeaderSeed::evidence_until), though they were in this round first and left the job to the rest.
bool LeaderCore::unaware_may_count(TimePoint now) {
  std::optional<TimePoint> until;
  for (const ElectorSeat& seat : electorates_.confirmed.seats) {
    const bool left_out =
        !seat.gone && !seat.replaced && seat.heard && !electorates_.latest.has(seat.incarnation);
    if (!left_out || now >= *seat.heard + times_.lease) continue;
    const LeaderNode* node = nodes_.find(seat.incarnation);
    if (node != nullptr && node->rounds.knows == electorates_.latest.key()) continue;
    until = std::max(until.value_or(now), *seat.heard + times_.lease);
  }
  if (until) wake(*until);
  return until.has_value();
}

// Where the nodes are no judges of who leads, nobody goes on from the round before.
void LeaderCore::confirm_round(TimePoint now) {
  std::vector<PresentNode> knowing;
  for (const LeaderNode* node : nodes_) {
    if (node->rounds.knows == electorates_.latest.key())
      knowing.push_back({node->incarnation(), node->rounds.accepted, node->came_over});
  }
  const bool judges = !elected_safe_at_ && !options_.rule.leader_alone();
  if (judges && (!may_confirm(electorates_, knowing) || unaware_may_count(now))) return;
  electorates_.confirm();
  uncertain_ = false;  // whoever leads next needs most of this one
  quorum_stale_ = true;
}

void LeaderCore::send_acks(TimePoint now) {
  for (const LinkId link : std::exchange(acks_, {})) {
    const auto node = links_.find(link);
    if (node != links_.end()) acknowledge(now, *node->second);
  }
}

// All of its heartbeats up to the last. Without a quorum no lease is renewed: see LeaseTimes. The
// job's end needs none.
void LeaderCore::acknowledge(TimePoint now, LeaderNode& node) {
  const auto sequence = std::exchange(node.unacknowledged, std::nullopt);
  if (!sequence) return;
  const bool in_vain = !quorum_since_ && state_ != LeaderState::kFinished;
  send(node, Ack{*sequence, electorates_.confirmed.confirmed ? electorates_.confirmed.round : 0,
                 in_vain, to_ms(now - began_), target_.asked()});
}

}  // namespace muster::rendezvous
