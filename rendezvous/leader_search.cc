#include "rendezvous/leader_search.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster::rendezvous {

namespace {

bool names_node(std::string_view host, std::string_view node) {
  return host == node || (host.starts_with(node) && host[node.size()] == '.');
}

}  // namespace

std::vector<Candidate> places_of(std::span<const RosterEntry> nodes) {
  std::vector<Candidate> places;
  places.reserve(nodes.size());
  for (const RosterEntry& node : nodes)
    places.push_back({.host = node.host, .port = static_cast<uint16_t>(node.port)});
  return places;
}

std::vector<Candidate> not_joined(std::vector<Candidate> everyone,
                                  std::span<const RosterEntry> joined) {
  for (const RosterEntry& node : joined) {
    std::erase_if(everyone, [&node](const Candidate& other) {
      const bool same = other.host == node.host || names_node(other.host, node.identity.name);
      return same && other.port == node.port;
    });
  }
  return everyone;
}

// A host file says how many slots an entry has, who tells of its leader does not.
bool leads_others(const std::optional<Candidate>& leader, std::span<const Candidate> own) {
  return leader && std::ranges::none_of(own, [&leader](const Candidate& other) {
           return other.host == leader->host && other.port == leader->port;
         });
}

std::vector<Candidate> with_leader(std::vector<Candidate> list,
                                   const std::optional<Candidate>& leader) {
  if (!leads_others(leader, list)) return list;
  if (list.size() >= kMaxCandidates) list.pop_back();  // one that was found before
  list.push_back(*leader);
  return list;
}

}  // namespace muster::rendezvous
