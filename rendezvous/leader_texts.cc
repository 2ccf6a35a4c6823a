#include "rendezvous/leader_texts.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/socket.h"
#include "base/text.h"

namespace muster::rendezvous {

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

std::string who_is_here(const std::map<uint64_t, LeaderNode>& nodes, const Electorate& last,
                        const std::vector<std::string>& expected) {
  std::vector<std::string> here;
  std::vector<std::string> missing = last.seats.empty() ? expected : std::vector<std::string>{};
  for (const auto& [incarnation, node] : nodes) {
    here.push_back(describe(node.join.identity));
    std::erase(missing, node.join.identity.name);
  }
  for (const ElectorSeat& seat : last.seats) {
    const bool back = seat.incarnation != 0 && nodes.contains(seat.incarnation);
    if (!back && seat.who) missing.push_back(describe(seat.who->identity));
  }
  for (std::vector<std::string>* names : {&here, &missing}) {
    if (names->size() <= kNamesInReason) continue;
    names->resize(kNamesInReason);
    names->push_back("...");
  }
  return "here: " + (here.empty() ? "nobody" : muster::join(here, ", ")) +
         (missing.empty() ? "" : "; missing: " + muster::join(missing, ", "));
}

std::string who_may_live(const std::map<uint64_t, LeaderNode>& nodes, const Electorate& last) {
  std::vector<std::string> unseen;
  for (const ElectorSeat& seat : last.seats) {
    const auto node = nodes.find(seat.incarnation);
    const bool here = node != nodes.end() && node->second.link();
    if (here || seat.gone || seat.replaced || !seat.who) continue;
    if (unseen.size() == kNamesInReason) {
      unseen.emplace_back("...");
      break;
    }
    const Address address{seat.who->host, static_cast<uint16_t>(seat.who->port)};
    unseen.push_back(fmt::format("{} ({})", describe(seat.who->identity), address.to_string()));
  }
  if (unseen.empty()) return "";
  return fmt::format("; {} may run where {} not seen", muster::join(unseen, ", "),
                     unseen.size() == 1 ? "it is" : "they are");
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
