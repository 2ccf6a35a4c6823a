#include "rendezvous/agreement/membership.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "rendezvous/agreement/place_index.h"
#include "rendezvous/agreement/target_size.h"

namespace muster::rendezvous {

namespace {

// A joiner with the seat it would take, which is a joiner's or of the history: of thousands of
// nodes none is copied before its place is known.
struct Seated {
  size_t joiner = 0;
  const NodeIdentity* seat = nullptr;
};

// "2 nodes", "1..4 nodes".
std::string nodes_of(const JobOptions& options) {
  const bool fixed = options.min_nodes == options.max_nodes;
  const std::string low = fixed ? "" : std::to_string(options.min_nodes) + "..";
  return low + counted(static_cast<size_t>(options.max_nodes), "node", "nodes") +
         (options.rule.has_apart() ? " with the launcher's" : "");
}

bool launches(const Joiner& joiner) { return joiner.node_rank == 0; }

// "1 of 2..4 nodes", "3 nodes, and the job takes 2 or 4 nodes": to the user a launcher apart is no
// node.
std::string too_few(std::span<const Joiner> joiners, const JobOptions& options) {
  if (every_size_allowed(options))
    return fmt::format("{} of {}", joiners.size(), nodes_of(options));
  const bool apart = options.rule.has_apart() && std::ranges::any_of(joiners, launches);
  return fmt::format("{}, and the job takes {}",
                     counted(joiners.size() - (apart ? 1 : 0), "node", "nodes"),
                     sizes_text(options));
}

RoundDecision not_yet(std::string reason, std::optional<TimePoint> wake_at = std::nullopt) {
  RoundDecision decision;
  decision.reason = std::move(reason);
  decision.wake_at = wake_at;
  return decision;
}

// Most are: they come by rank.
template <typename T, typename Less>
void sort_unless_sorted(std::vector<T>& all, const Less& less) {
  if (!std::ranges::is_sorted(all, less)) std::ranges::sort(all, less);
}

// Those of the last round first, by seat; then newcomers that are the same pod as an empty seat's;
// then the others, by who they are.
std::vector<size_t> by_claim(std::span<const Joiner> joiners, const RoundHistory& history) {
  std::vector<size_t> order(joiners.size());
  std::iota(order.begin(), order.end(), size_t{0});
  sort_unless_sorted(order, [&joiners](size_t left, size_t right) {
    const Joiner& a = joiners[left];
    const Joiner& b = joiners[right];
    if (a.seat.has_value() != b.seat.has_value()) return a.seat.has_value();
    const int seats = compare_seats(a.seat ? *a.seat : a.identity, b.seat ? *b.seat : b.identity);
    return seats != 0 ? seats < 0 : a.identity.incarnation < b.identity.incarnation;
  });
  if (history.empty_seats.empty()) return order;
  PlaceIndex empty_seats;
  for (const NodeIdentity& seat : history.empty_seats) empty_seats.add(seat);
  std::stable_partition(order.begin(), order.end(), [&joiners, &empty_seats](size_t joiner) {
    return joiners[joiner].seat || empty_seats.find(joiners[joiner].identity);
  });
  return order;
}

// By seat, then by who sits there.
bool sits_before(const Seated& left, const Seated& right, std::span<const Joiner> joiners) {
  if (const int seats = compare_seats(*left.seat, *right.seat); seats != 0) return seats < 0;
  const NodeIdentity& a = joiners[left.joiner].identity;
  const NodeIdentity& b = joiners[right.joiner].identity;
  const int places = compare_seats(a, b);
  return places != 0 ? places < 0 : a.incarnation < b.incarnation;
}

// Into those of `empty_seats` that nobody has (null: taken by now), the lowest first, then where
// their identity puts them.
void seat_newcomers(const std::vector<size_t>& newcomers, std::span<const Joiner> joiners,
                    const std::vector<const NodeIdentity*>& empty_seats,
                    std::vector<Seated>& seated) {
  PlaceIndex taken;
  if (!newcomers.empty() && !empty_seats.empty())
    for (const Seated& node : seated) taken.add(*node.seat);
  auto next_seat = empty_seats.begin();
  for (const size_t joiner : newcomers) {
    while (next_seat != empty_seats.end() && (*next_seat == nullptr || taken.find(**next_seat)))
      ++next_seat;
    const bool inherits = next_seat != empty_seats.end();
    seated.push_back({joiner, inherits ? *next_seat++ : &joiners[joiner].identity});
    if (inherits) taken.add(*seated.back().seat);
  }
}

// Members keep their seats, a returning pod gets its own, other newcomers fill the lowest empty
// seats, and the rest sit where their identity puts them.
std::vector<Seated> take_seats(const std::vector<size_t>& chosen, std::span<const Joiner> joiners,
                               std::span<const NodeIdentity> empty) {
  std::vector<const NodeIdentity*> empty_seats;
  for (const NodeIdentity& seat : empty) empty_seats.push_back(&seat);
  std::sort(empty_seats.begin(), empty_seats.end(),
            [](const NodeIdentity* a, const NodeIdentity* b) { return seat_less(*a, *b); });
  PlaceIndex free;
  for (const NodeIdentity* seat : empty_seats) free.add(*seat);
  std::vector<Seated> seated;
  seated.reserve(chosen.size());
  std::vector<size_t> newcomers;
  for (const size_t joiner : chosen) {
    const Joiner& node = joiners[joiner];
    if (node.seat) {
      seated.push_back({joiner, &*node.seat});
    } else if (const auto own = free.find(node.identity)) {
      seated.push_back({joiner, std::exchange(empty_seats[*own], nullptr)});
      free.remove(*own);
    } else {
      newcomers.push_back(joiner);
    }
  }
  seat_newcomers(newcomers, joiners, empty_seats, seated);
  // As they were chosen, unless newcomers took the places of others.
  sort_unless_sorted(
      seated, [joiners](const Seated& a, const Seated& b) { return sits_before(a, b, joiners); });
  return seated;
}

// --node-rank first, the others fill the free ranks in order.
std::vector<Seated> honour_node_ranks(std::vector<Seated> seated, std::span<const Joiner> joiners) {
  const auto asks = [joiners](const Seated& node) {
    return joiners[node.joiner].node_rank.has_value();
  };
  if (std::none_of(seated.begin(), seated.end(), asks)) return seated;
  std::vector<std::optional<Seated>> ranks(seated.size());
  std::vector<Seated> others;
  for (const Seated& node : seated) {
    const auto wanted = joiners[node.joiner].node_rank;
    const bool possible = wanted && *wanted >= 0 && static_cast<size_t>(*wanted) < ranks.size();
    if (possible && !ranks[static_cast<size_t>(*wanted)]) {
      ranks[static_cast<size_t>(*wanted)] = node;
    } else {
      others.push_back(node);
    }
  }
  auto next = others.begin();
  std::vector<Seated> ordered;
  for (const auto& rank : ranks) ordered.push_back(rank ? *rank : *next++);
  return ordered;
}

// Running sums of local world sizes, over all and per role (torchrun reference 4.3).
RoundDecision number_ranks(const std::vector<Seated>& seated, std::span<const Joiner> joiners) {
  RoundDecision decision;
  decision.members.reserve(seated.size());
  std::map<std::string_view, int> role_sizes;
  for (const Seated& node : seated) {
    const Joiner& joiner = joiners[node.joiner];
    int& role_size = role_sizes[joiner.role];
    decision.members.push_back({.joiner = node.joiner,
                                .seat = *node.seat,
                                .rank_offset = decision.world_size,
                                .role_rank_offset = role_size});
    decision.world_size += joiner.local_world_size;
    role_size += joiner.local_world_size;
  }
  for (RoundMember& member : decision.members) {
    member.role_world_size = role_sizes[joiners[member.joiner].role];
  }
  return decision;
}

// Every node rank below max exactly once (the lower seat wins), else nothing.
std::vector<size_t> complete_set(const std::vector<size_t>& order, std::span<const Joiner> joiners,
                                 int max_nodes) {
  std::map<int, size_t> by_rank;
  for (const size_t joiner : order) {
    const auto rank = joiners[joiner].node_rank;
    if (rank && *rank >= 0 && *rank < max_nodes) by_rank.emplace(*rank, joiner);
  }
  std::vector<size_t> chosen;
  if (by_rank.size() != static_cast<size_t>(max_nodes)) return chosen;
  for (const auto& [rank, joiner] : by_rank) chosen.push_back(joiner);
  return chosen;
}

// Which rank keeps so many nodes from being a complete set; "" = some are still to come.
std::string why_incomplete(std::span<const Joiner> joiners, int max_nodes) {
  if (joiners.size() < static_cast<size_t>(max_nodes)) return "";
  std::map<int, std::vector<std::string>> by_rank;
  for (const Joiner& joiner : joiners)
    by_rank[joiner.node_rank.value_or(-1)].push_back(joiner.identity.name);
  for (int rank = 0; rank < max_nodes; ++rank) {
    if (by_rank.contains(rank)) continue;
    const auto shared = std::ranges::find_if(
        by_rank, [](const auto& entry) { return entry.first >= 0 && entry.second.size() > 1; });
    std::string none = fmt::format(", none has --node-rank {}", rank);
    if (shared == by_rank.end()) return none;
    return none + fmt::format(", but {} and {} have --node-rank {}", shared->second[0],
                              shared->second[1], shared->first);
  }
  return "";
}

RoundDecision form(const std::vector<size_t>& chosen, std::span<const Joiner> joiners,
                   const RoundHistory& history, std::string reason) {
  auto seated = take_seats(chosen, joiners, history.empty_seats);
  RoundDecision decision = number_ranks(honour_node_ranks(std::move(seated), joiners), joiners);
  decision.reason = std::move(reason);
  return decision;
}

// Until when more nodes are awaited although `possible` would do.
std::optional<TimePoint> awaited_until(std::span<const Joiner> joiners, const RoundHistory& history,
                                       const JobOptions& options, int possible, int target) {
  if (possible >= target) return std::nullopt;
  if (history.had_round) {
    if (possible >= history.last_nodes) return std::nullopt;
    return history.replace_until;
  }
  TimePoint last_arrival = TimePoint::min();
  for (const Joiner& joiner : joiners) last_arrival = std::max(last_arrival, joiner.joined_at);
  return last_arrival + options.last_call;
}

}  // namespace

RoundDecision decide_round(TimePoint now, std::span<const Joiner> joiners,
                           const RoundHistory& history, const JobOptions& options) {
  const int here = static_cast<int>(joiners.size());
  if (options.known_nodes) {
    auto chosen = complete_set(by_claim(joiners, history), joiners, options.max_nodes);
    if (chosen.empty()) {
      return not_yet(fmt::format("{} of {}{}", here, nodes_of(options),
                                 why_incomplete(joiners, options.max_nodes)));
    }
    return form(chosen, joiners, history,
                "all " + counted(static_cast<size_t>(here), "node", "nodes"));
  }
  const int wanted = std::clamp(history.target_nodes.value_or(options.max_nodes), options.min_nodes,
                                options.max_nodes);
  const int target = largest_allowed(options, wanted).value_or(options.max_nodes);
  const auto possible = largest_allowed(options, std::min(here, target));
  if (!possible) return not_yet(too_few(joiners, options));
  const auto until = awaited_until(joiners, history, options, *possible, target);
  if (until && now < *until) {
    RoundDecision decision =
        not_yet(fmt::format("{} of {}, {} for {} more", here, nodes_of(options),
                            history.had_round ? "waiting for a replacement" : "last call",
                            format_duration(*until - now)),
                until);
    decision.last_call = true;
    return decision;
  }
  std::vector<size_t> order = by_claim(joiners, history);
  if (options.rule.has_appointed() || options.rule.leader_alone()) {
    const auto others = std::stable_partition(
        order.begin(), order.end(), [&](size_t joiner) { return launches(joiners[joiner]); });
    if (others == order.begin())
      return not_yet(fmt::format("{} of {}, the launcher is missing", here, nodes_of(options)));
  }
  order.resize(options.rule.leader_alone() ? 1 : static_cast<size_t>(*possible));
  const int spares = here - *possible;
  return form(order, joiners, history,
              fmt::format("{} of {}{}", *possible, nodes_of(options),
                          spares > 0 ? fmt::format(", {} spare", spares) : ""));
}

}  // namespace muster::rendezvous
