#include "rendezvous/agreement/known_rounds.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "rendezvous/agreement/electorate.h"

namespace muster::rendezvous {

namespace {

bool has_ended(const std::vector<EndedNodes>& ended, const RoundReport& round, int rank) {
  return std::ranges::any_of(ended, [&](const EndedNodes& nodes) {
    return key_of(nodes) == key_of(round) &&
           std::ranges::find(nodes.node_ranks, rank) != nodes.node_ranks.end();
  });
}

}  // namespace

KnownRounds::Counted KnownRounds::counted() const {
  const auto known = [](const auto& round) { return round ? &*round : nullptr; };
  const bool ran = later && last && last->confirmed;
  return {known(later ? later : last), known(ran ? last : confirmed)};
}

std::vector<RosterEntry> KnownRounds::left(uint64_t own) const {
  std::vector<RosterEntry> nodes;
  std::unordered_set<uint64_t> seen{own};
  const auto [latest, former] = counted();
  for (const RoundReport* round : {latest, former}) {
    if (round == nullptr) continue;
    for (size_t rank = 0; rank < round->roster.size(); ++rank) {
      const RosterEntry& node = round->roster[rank];
      const bool fresh = seen.insert(node.identity.incarnation).second;
      if (fresh && !has_ended(ended, *round, static_cast<int>(rank))) nodes.push_back(node);
    }
  }
  return nodes;
}

bool KnownRounds::ended_with(uint64_t term) const {
  return last && !later && last_of_leader == key_of(*last) && last_of_leader.term == term;
}

void KnownRounds::begin(RoundReport round) {
  if (last && last->confirmed) confirmed = std::move(last);
  last = std::move(round);
}

bool KnownRounds::learn(const LastRound& told) {
  const RoundKey key{told.term, told.round};
  for (const auto* known : {&last, &later}) {
    if (*known && key <= key_of(**known)) return false;
  }
  later = RoundReport{};
  later->round = told.round;
  later->term = told.term;
  later->node_count = told.node_count;
  later->confirmed = told.confirmed;
  return true;
}

bool KnownRounds::adopt_later() {
  if (!later) return false;
  begin(*std::exchange(later, std::nullopt));
  return true;
}

bool KnownRounds::ran_everywhere(RoundKey round) {
  if (later && key_of(*later) == round) later->confirmed = true;
  if (!last || key_of(*last) != round) return false;
  confirmed.reset();
  return !std::exchange(last->confirmed, true);
}

void KnownRounds::learn_ended(const std::vector<EndedNodes>& nodes) {
  const RoundKey newest = last ? key_of(*last) : RoundKey{};
  rendezvous::learn_ended(ended, nodes, newest, confirmed ? key_of(*confirmed) : newest);
}

std::optional<NodeIdentity> KnownRounds::note_end(uint64_t incarnation) {
  std::optional<NodeIdentity> who;
  const auto [latest, former] = counted();
  for (const RoundReport* round : {latest, former}) {
    if (round == nullptr) continue;
    const auto node = std::ranges::find(round->roster, incarnation, [](const RosterEntry& entry) {
      return entry.identity.incarnation;
    });
    if (node == round->roster.end()) continue;
    const int rank = static_cast<int>(node - round->roster.begin());
    if (has_ended(ended, *round, rank)) continue;
    const RoundKey other = former != nullptr ? key_of(*former) : key_of(*latest);
    rendezvous::learn_ended(ended, {{round->round, round->term, {rank}}}, key_of(*latest), other);
    who = node->identity;
  }
  return who;
}

}  // namespace muster::rendezvous
