#include "mpi/rsh/rsh_peers.h"

#include <functional>

#include "base/text.h"

namespace muster::mpi {

namespace {

using rendezvous::RosterEntry;
using Entries = std::vector<const RosterEntry*>;

Entries matching(const std::vector<RosterEntry>& roster,
                 const std::function<bool(const RosterEntry&)>& matches) {
  Entries found;
  for (const RosterEntry& entry : roster) {
    if (matches(entry)) found.push_back(&entry);
  }
  return found;
}

std::string names_of(const Entries& entries) {
  std::vector<std::string> names;
  for (const RosterEntry* entry : entries) {
    if (names.size() == kMaxNamedPeers) return join(names, ", ") + ", ...";
    names.push_back(entry->identity.name);
  }
  return join(names, ", ");
}

}  // namespace

PeerAnswer find_peer(const std::vector<RosterEntry>& roster, size_t max_nodes,
                     std::string_view own_node, std::string_view host) {
  const std::string wanted = to_lower(host == "localhost" ? own_node : host);
  Entries found = matching(roster, [host, own_node](const RosterEntry& entry) {
    return entry.identity.name == (host == "localhost" ? own_node : host);
  });
  if (found.empty()) {
    found = matching(roster, [&wanted](const RosterEntry& entry) {
      return to_lower(entry.identity.name) == wanted;
    });
  }
  // Not for addresses: 10.0.0.1 and 10.0.0.2 have nothing in common.
  const bool is_address = wanted.find_first_not_of("0123456789.") == std::string_view::npos;
  if (found.empty() && !is_address) {
    found = matching(roster, [&wanted](const RosterEntry& entry) {
      return to_lower(first_label(entry.identity.name)) == first_label(wanted);
    });
  }
  if (found.empty()) {
    found = matching(roster, [&wanted](const RosterEntry& entry) { return entry.host == wanted; });
  }
  if (found.size() == 1) return {.entry = found.front()};
  const std::string quoted = "'" + std::string(host) + "'";
  if (found.size() > 1) return {.reason = quoted + " could be " + names_of(found)};
  if (roster.empty()) return {.may_come = true, .reason = quoted + ": no round runs here"};
  const std::string all = names_of(matching(roster, [](const RosterEntry&) { return true; }));
  const bool may_come = roster.size() < max_nodes;
  std::string reason = quoted + " is no node of this job, which has " + all;
  if (may_come) {
    reason += "; " + std::to_string(roster.size()) + " of up to " + std::to_string(max_nodes) +
              " nodes are here";
  }
  return {.may_come = may_come, .reason = std::move(reason)};
}

}  // namespace muster::mpi
