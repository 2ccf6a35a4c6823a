#include "rendezvous/agreement/replacement.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "rendezvous/agreement/place_index.h"

namespace muster::rendezvous {

namespace {

bool is_at(const Join& join, const RosterEntry& who) {
  return join.host == who.host && join.port == who.port;
}

// The places of a round, once somebody asks.
class RoundPlaces {
 public:
  explicit RoundPlaces(const Electorate& round) : round_(round) {}
  bool has_once(const NodeIdentity& place) {
    if (!places_) {
      places_.emplace();
      for (const ElectorSeat& seat : round_.seats)
        if (seat.who) places_->add(seat.who->identity);
    }
    return places_->find_only(place).has_value();
  }

 private:
  const Electorate& round_;
  std::optional<PlaceIndex> places_;
};

// Those here who had no seat in the last round.
class Newcomers {
 public:
  Newcomers(const std::vector<PlacedNode>& here, const Electorate& last) {
    for (const PlacedNode& node : here) {
      if (last.has(node.incarnation)) continue;
      all_.push_back(node.join);
      places_.add(node.join->identity);
      addresses_.emplace(std::pair(std::string_view(node.join->host), node.join->port), node.join);
    }
  }
  // Who has come to the place of `who`. Null: nobody, or it is not clear who. Two agents of one
  // machine may bear one name: elsewhere than at its address it is one of a place that nobody else
  // has, here or in its round.
  const Join* successor(const RosterEntry& who, RoundPlaces& round) const {
    auto [at, end] = addresses_.equal_range(std::pair(std::string_view(who.host), who.port));
    for (; at != end; ++at)
      if (same_place(at->second->identity, who.identity)) return at->second;
    const auto only = places_.find_only(who.identity);
    return only && round.has_once(who.identity) ? all_[*only] : nullptr;
  }

 private:
  std::vector<const Join*> all_;
  PlaceIndex places_;
  std::multimap<std::pair<std::string_view, int>, const Join*> addresses_;
};

}  // namespace

std::optional<TimePoint> ends_without(TimePoint now, const Electorate& ran,
                                      const std::vector<PlacedNode>& here,
                                      const JobOptions& options) {
  const bool takes_all = options.min_nodes >= options.max_nodes + options.spares;
  std::optional<TimePoint> missed_since;
  for (const PlacedNode& node : here) {
    if (ran.has(node.incarnation) && !node.succeeded)
      missed_since = std::min(missed_since.value_or(now), node.came_over);
  }
  if (!missed_since || !takes_all) return std::nullopt;
  const LeaseTimes times = lease_times(options.lease);
  return *missed_since + times.touch + 2 * times.lease +
         std::max(options.stop_grace, options.lost_grace);
}

std::optional<TimePoint> mark_replaced(TimePoint now, Electorates& electorates,
                                       const ReplacementFacts& facts, const JobOptions& options) {
  const Newcomers newcomers(facts.here, electorates.latest);
  const auto ended = ends_without(now, electorates.latest, facts.here, options);
  std::optional<TimePoint> safe;
  for (Electorate* ran : {&electorates.latest, &electorates.confirmed}) {
    RoundPlaces places(*ran);
    for (ElectorSeat& seat : ran->seats) {
      const bool missing =
          seat.who && !seat.gone && !seat.replaced && !facts.knows(seat.incarnation);
      if (!missing) continue;
      const bool launched = facts.launcher != nullptr && &seat == &ran->seats.front();
      const Join* next = launched ? facts.launcher : newcomers.successor(*seat.who, places);
      if (next == nullptr) continue;
      const bool same_address = is_at(*next, *seat.who);
      if (!same_address && !ended) continue;
      seat.replaced = true;
      const TimePoint over = same_address ? facts.leaders_since : *ended;
      safe = std::max({safe.value_or(over), over, facts.leaders_since + options.lease});
    }
  }
  return safe;
}

}  // namespace muster::rendezvous
