#include "rendezvous/leader/leader_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/socket.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

std::string few(std::vector<std::string> names) {
  if (names.size() > kNamesInReason) {
    names.resize(kNamesInReason);
    names.emplace_back("...");
  }
  return muster::join(names, ", ");
}

}  // namespace

bool same_but_for_numbers(std::string_view left, std::string_view right) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  size_t j = 0;
  for (const char c : left) {
    if (digit(c)) continue;
    while (j < right.size() && digit(right[j])) ++j;
    if (j == right.size() || right[j++] != c) return false;
  }
  while (j < right.size() && digit(right[j])) ++j;
  return j == right.size();
}

std::string who_is_here(const NodeTable& nodes, const Electorate& last,
                        const std::vector<std::string>& expected) {
  std::vector<NodeIdentity> identities;
  identities.reserve(nodes.size());
  for (const LeaderNode* node : nodes) identities.push_back(node->join.identity);
  std::sort(identities.begin(), identities.end(), seat_less);
  std::vector<std::string> here;
  std::vector<std::string> missing = last.seats.empty() ? expected : std::vector<std::string>{};
  for (const NodeIdentity& identity : identities) {
    here.push_back(describe(identity));
    std::erase(missing, identity.name);
  }
  for (const ElectorSeat& seat : last.seats) {
    const bool back = seat.incarnation != 0 && nodes.contains(seat.incarnation);
    if (!back && seat.who) missing.push_back(describe(seat.who->identity));
  }
  return "here: " + (here.empty() ? "nobody" : few(std::move(here))) +
         (missing.empty() ? "" : "; missing: " + few(std::move(missing)));
}

std::string round_text(const Electorate& round, const RoundDecision& decision) {
  std::vector<std::string> names;
  for (const ElectorSeat& seat : round.seats) {
    if (names.size() > kNamesInReason) break;
    names.push_back(seat.who ? describe(seat.who->identity) : "?");
  }
  const auto& first = round.seats.front().who;
  const std::string store =
      first ? "; store " + Address{first->host, static_cast<uint16_t>(first->port)}.to_string()
            : "";
  return fmt::format("round {}: {}, {}; {}{}", round.round, decision.reason,
                     counted(static_cast<size_t>(decision.world_size), "worker", "workers"),
                     few(std::move(names)), store);
}

std::string stop_text(const RoundReport& report, const Electorate& latest,
                      const std::string& leader) {
  if (key_of(report) != latest.key()) {
    return fmt::format("round {} is over{}", report.round,
                       latest.round > report.round
                           ? fmt::format(": round {} went on without this node", latest.round)
                           : ": its leader is gone");
  }
  const auto rank = static_cast<size_t>(report.leader_rank);
  const bool known =
      report.leader_rank >= 0 && rank < latest.seats.size() && latest.seats[rank].who;
  const std::string former = known ? latest.seats[rank].who->identity.name : "";
  if (former.empty())
    return fmt::format("the leader of round {} is gone, {} leads", report.round, leader);
  if (former == leader) return fmt::format("{} leads anew after round {}", leader, report.round);
  return fmt::format("{}, the leader of round {}, is gone; {} leads", former, report.round, leader);
}

std::string unmet_names(const Electorate& round) {
  std::vector<std::string> names;
  for (const ElectorSeat& seat : round.seats) {
    if (!seat.heard && !seat.gone && seat.who) names.push_back(describe(seat.who->identity));
  }
  return few(std::move(names));
}

std::string explanation(BreakCause cause, const std::string& text, const Electorate& round,
                        int leaving, const NodeTable& nodes) {
  if (explains_failures(cause)) return text;
  if (cause != BreakCause::kNone && leaving == 0) return "";
  for (const ElectorSeat& seat : round.seats) {
    const LeaderNode* node = nodes.find(seat.incarnation);
    if (node != nullptr && node->leave_by()) return describe(node->join.identity) + " leaves";
    if (node != nullptr || cause != BreakCause::kNone || seat.succeeded) continue;
    return (seat.who ? describe(seat.who->identity) : "a node of that round") + " is missing";
  }
  return "";
}

leader_output::Entered first_state(TimePoint now, uint64_t round, TimePoint heard) {
  leader_output::Entered entered{LeaderState::kGathering, now, round};
  entered.fault = round > 0 ? heard : now;
  entered.known = now;
  if (round == 0) return entered;
  entered.cause = kCauseLeader;
  entered.reason = fmt::format("round {} ended with its leader", round);
  return entered;
}

std::string excuse(const std::vector<Failure>& failures, const std::string& why) {
  const auto charged = [](const Failure& failure) { return !failure.told_to_stop; };
  const auto found = std::ranges::find_if(failures, charged);
  const Failure& first = found == failures.end() ? failures.front() : *found;
  return fmt::format("{} failed: {}; not charged: {}", who_failed(first), first.reason, why);
}

std::string end_text(const LeaderNode& node) {
  const std::string name = describe(node.join.identity);
  return node.leave_by() ? fmt::format("{} leaves: {}", name, node.leave_reason)
                         : name + " ended its workers";
}

std::string leaving_text(const LeaderNode& node, const Leaving& leaving) {
  const std::chrono::milliseconds half(leaving.grace_ms / 2);
  return fmt::format("{}: {}, {} to save and as long to stop", describe(node.join.identity),
                     leaving.reason, format_duration(half));
}

std::vector<std::string> missing_ranks(const NodeTable& nodes, int count) {
  std::vector<bool> taken(static_cast<size_t>(count));
  for (const LeaderNode* node : nodes) {
    const int rank = node->join.node_rank.value_or(-1);
    if (rank >= 0 && rank < count) taken[static_cast<size_t>(rank)] = true;
  }
  std::vector<std::string> missing;
  for (int rank = 0; rank < count; ++rank) {
    if (!taken[static_cast<size_t>(rank)]) missing.push_back(fmt::format("node rank {}", rank));
  }
  return missing;
}

std::string who_may_live(const NodeTable& nodes, const Electorate& last) {
  std::vector<std::string> unseen;
  for (const ElectorSeat& seat : last.seats) {
    const LeaderNode* node = nodes.find(seat.incarnation);
    const bool here = node != nullptr && node->link();
    if (here || seat.gone || seat.replaced || !seat.who) continue;
    if (unseen.size() > kNamesInReason) break;
    const Address address{seat.who->host, static_cast<uint16_t>(seat.who->port)};
    unseen.push_back(fmt::format("{} ({})", describe(seat.who->identity), address.to_string()));
  }
  if (unseen.empty()) return "";
  const std::string where = unseen.size() == 1 ? "it is" : "they are";
  return fmt::format("; {} may run where {} not seen", few(std::move(unseen)), where);
}

std::string unfit_text(const NodeTable& nodes, TimePoint now) {
  std::string text;
  size_t named = 0;
  for (const LeaderNode* node : nodes) {
    const NodeHealth& health = node->health;
    if (!health.is_out(now) || named++ >= kNamesInReason) continue;
    text += fmt::format("; {} is not fit, and out for {} more: {}", describe(node->join.identity),
                        format_duration(health.until() - now), health.why());
  }
  return text;
}

std::optional<TimePoint> next_fit(const NodeTable& nodes, TimePoint now) {
  std::optional<TimePoint> next;
  for (const LeaderNode* node : nodes) {
    if (!node->health.is_out(now)) continue;
    next = std::min(next.value_or(node->health.until()), node->health.until());
  }
  return next;
}

std::string same_name_text(const std::vector<RosterEntry>& roster) {
  const auto twins = std::adjacent_find(roster.begin(), roster.end(),
                                        [](const RosterEntry& left, const RosterEntry& right) {
                                          return same_place(left.identity, right.identity);
                                        });
  if (twins == roster.end()) return "";
  const NodeIdentity& identity = twins->identity;
  const bool numbered = identity.index && std::next(twins)->identity.index;
  const std::string what = numbered ? fmt::format("say both --node-rank {}", *identity.index)
                                    : fmt::format("are both called '{}'", identity.name);
  return fmt::format(
      "{} and {} {}: which of them gets which rank may change from round to round; {} tells them "
      "apart",
      twins->host, std::next(twins)->host, what, numbered ? "--node-rank" : "--node-name");
}

}  // namespace muster::rendezvous
