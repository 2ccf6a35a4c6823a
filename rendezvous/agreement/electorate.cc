#include "rendezvous/agreement/electorate.h"

#include <algorithm>
#include <utility>

namespace muster::rendezvous {

namespace {

// `accepted`: nodes that know, or may have known, of a newer round than this one are counted
// neither as present nor as gone.
std::vector<NodeFate> fates(const Electorate& electorate, const std::vector<PresentNode>& present,
                            RoundKey accepted) {
  std::vector<NodeFate> nodes;
  nodes.reserve(electorate.seats.size());
  for (const ElectorSeat& seat : electorate.seats) {
    NodeFate node{.fate = Fate::kUnknown, .heard = seat.heard};
    if (seat.gone || seat.replaced) {
      if (accepted == kAnyRound || (seat.gone && seat.knew <= accepted)) node.fate = Fate::kGone;
    }
    nodes.push_back(node);
  }
  for (const PresentNode& node : present) {
    const auto rank = electorate.rank_of(node.incarnation);
    if (!rank || node.accepted > accepted) continue;
    const ElectorSeat& seat = electorate.seats[*rank];
    if (!seat.gone && !seat.replaced) nodes[*rank].fate = Fate::kPresent;
  }
  return nodes;
}

}  // namespace

std::optional<size_t> Electorate::rank_of(uint64_t incarnation) const {
  const auto rank = ranks_.find(incarnation);
  const bool sits = rank != ranks_.end() && seats.at(rank->second).incarnation == incarnation;
  return sits ? std::optional(rank->second) : std::nullopt;
}

ElectorSeat* Electorate::find(uint64_t incarnation) {
  const auto rank = rank_of(incarnation);
  return rank ? &seats[*rank] : nullptr;
}

void Electorate::sit(size_t rank, uint64_t incarnation) {
  seats.at(rank).incarnation = incarnation;
  if (incarnation != 0) ranks_[incarnation] = rank;
}

void Electorate::reserve(size_t nodes) {
  seats.reserve(nodes);
  ranks_.reserve(nodes);
}

bool Electorate::mark_succeeded(uint64_t incarnation) {
  ElectorSeat* seat = find(incarnation);
  if (seat == nullptr) return false;
  if (!std::exchange(seat->succeeded, true)) ++gone_after_success_;
  return true;
}

void Electorate::learn(const RoundReport& report, uint64_t incarnation) {
  confirmed = confirmed || report.confirmed;
  for (size_t i = 0; i < std::min(seats.size(), report.roster.size()); ++i) {
    if (!seats[i].who) seats[i].who = report.roster[i];
    if (seats[i].incarnation == 0) sit(i, report.roster[i].identity.incarnation);
  }
  if (report.node_rank < 0 || static_cast<size_t>(report.node_rank) >= seats.size()) return;
  sit(static_cast<size_t>(report.node_rank), incarnation);
}

Electorate electorate_of(const RoundReport& report, uint64_t incarnation) {
  Electorate electorate;
  electorate.round = report.round;
  electorate.term = report.term;
  electorate.seats.resize(static_cast<size_t>(std::max(report.node_count, 0)));
  electorate.learn(report, incarnation);
  return electorate;
}

void learn_ended(std::vector<EndedNodes>& known, const std::vector<EndedNodes>& told,
                 RoundKey latest, RoundKey confirmed) {
  for (const EndedNodes& nodes : told) {
    const auto same = std::find_if(known.begin(), known.end(), [&](const EndedNodes& other) {
      return key_of(other) == key_of(nodes);
    });
    if (same == known.end()) {
      known.push_back(nodes);
      continue;
    }
    std::vector<int>& ranks = same->node_ranks;
    ranks.insert(ranks.end(), nodes.node_ranks.begin(), nodes.node_ranks.end());
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  }
  std::erase_if(known, [&](const EndedNodes& nodes) {
    return key_of(nodes) != latest && key_of(nodes) != confirmed;
  });
}

void Electorates::learn(const RoundReport& report, uint64_t incarnation) {
  if (report.round == 0) return;
  if (key_of(report) == latest.key()) {
    latest.learn(report, incarnation);
  } else if (key_of(report) > latest.key()) {
    Electorate older = std::move(latest);
    latest = electorate_of(report, incarnation);
    if (older.confirmed) confirmed = std::move(older);
  } else if (key_of(report) == confirmed.key()) {
    confirmed.learn(report, incarnation);
  } else if (report.confirmed && key_of(report) > confirmed.key()) {
    confirmed = electorate_of(report, incarnation);
  }
  if (latest.confirmed) confirmed = latest;
}

void Electorates::assign(Electorate round) {
  if (confirmed.round == 0) confirmed = std::move(latest);
  latest = std::move(round);
}

void Electorates::confirm() {
  latest.confirmed = true;
  confirmed = latest;
}

void Electorates::mark_gone(uint64_t incarnation, TimePoint now, RoundKey knew) {
  for (Electorate* electorate : {&latest, &confirmed}) {
    ElectorSeat* seat = electorate->find(incarnation);
    if (seat == nullptr || std::exchange(seat->gone, true)) continue;
    seat->knew = knew;
    gone_at = now;
  }
}

void Electorates::mark_ended(const EndedNodes& nodes, TimePoint now) {
  for (Electorate* electorate : {&latest, &confirmed}) {
    if (electorate->key() != key_of(nodes)) continue;
    for (const int rank : nodes.node_ranks) {
      if (static_cast<size_t>(rank) >= electorate->seats.size()) continue;
      ElectorSeat& seat = electorate->seats[static_cast<size_t>(rank)];
      if (seat.incarnation != 0) mark_gone(seat.incarnation, now);
      if (!std::exchange(seat.gone, true)) gone_at = now;
    }
  }
}

std::vector<EndedNodes> Electorates::ended() const {
  std::vector<EndedNodes> ended;
  for (const Electorate* electorate : {&latest, &confirmed}) {
    if (electorate == &confirmed && confirmed.key() == latest.key()) continue;
    EndedNodes nodes{electorate->round, electorate->term, {}};
    for (size_t rank = 0; rank < electorate->seats.size(); ++rank) {
      if (electorate->seats[rank].gone) nodes.node_ranks.push_back(static_cast<int>(rank));
    }
    if (!nodes.node_ranks.empty()) ended.push_back(std::move(nodes));
  }
  return ended;
}

void Electorates::mark_heard(uint64_t incarnation, TimePoint now) {
  for (Electorate* electorate : {&latest, &confirmed}) {
    if (ElectorSeat* seat = electorate->find(incarnation)) seat->heard = now;
  }
}

void Electorates::forget_replaced() {
  for (Electorate* electorate : {&latest, &confirmed}) {
    for (ElectorSeat& seat : electorate->seats) seat.replaced = false;
  }
}

Quorum decide_quorum(const Electorates& electorates, const std::vector<PresentNode>& present) {
  const Electorate& latest = electorates.latest;
  const Electorate& confirmed = electorates.confirmed;
  Quorum newest = decide_quorum(latest.round, fates(latest, present, kAnyRound));
  if (latest.confirmed || confirmed.round == 0) return newest;
  Quorum older = decide_quorum(confirmed.round, fates(confirmed, present, kAnyRound));
  newest.vacant = newest.vacant && older.vacant;
  if (newest.enough && older.enough) return newest;
  Quorum untouched = decide_quorum(confirmed.round, fates(confirmed, present, confirmed.key()));
  if (untouched.enough) return untouched;
  return newest.enough ? older : newest;
}

bool binds(const Electorates& electorates) {
  const Electorate& ran = electorates.latest.confirmed ? electorates.latest : electorates.confirmed;
  return ran.confirmed && std::any_of(ran.seats.begin(), ran.seats.end(), [](const auto& seat) {
           return !seat.gone && !seat.replaced;
         });
}

bool may_confirm(const Electorates& electorates, const std::vector<PresentNode>& knowing) {
  const Electorate& former = electorates.confirmed;
  if (former.round == 0) return true;
  return decide_quorum(former.round, fates(former, knowing, kAnyRound)).enough;
}

TimePoint came_over(const Electorates& electorates, const std::vector<PresentNode>& present) {
  TimePoint latest = electorates.gone_at;
  for (const PresentNode& node : present) {
    if (electorates.latest.has(node.incarnation) || electorates.confirmed.has(node.incarnation))
      latest = std::max(latest, node.came_over);
  }
  return latest;
}

TimePoint safe_to_form(const Electorates& electorates, const std::vector<PresentNode>& present,
                       TimePoint rival_until, Duration lease) {
  const auto newest = fates(electorates.latest, present, kAnyRound);
  if (electorates.latest.confirmed) return safe_to_form(newest, rival_until, lease);
  const auto older = fates(electorates.confirmed, present, kAnyRound);
  return std::max(safe_to_form(newest, rival_until, lease),
                  safe_to_form(older, rival_until, lease));
}

}  // namespace muster::rendezvous
