// PlaceIndex: finds who has the same place (same_place of node_identity.h) among thousands. Pure;
// used by membership.cc and the leader.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "rendezvous/messages/node_identity.h"

namespace muster::rendezvous {

/// Over identities that are borrowed and outlive it. Each operation is O(log n).
class PlaceIndex {
 public:
  /// Its position: they are numbered from 0 as they are added.
  size_t add(const NodeIdentity& identity);
  /// The lowest position that is the same place; none = there is none, or it was removed.
  [[nodiscard]] std::optional<size_t> find(const NodeIdentity& identity) const;
  /// The only position that is the same place; none also where there are several.
  [[nodiscard]] std::optional<size_t> find_only(const NodeIdentity& identity) const;
  void remove(size_t position);

 private:
  using Positions = std::set<size_t>;
  std::vector<const NodeIdentity*> all_;
  std::map<int, Positions> by_number_;                // those that know their index
  std::map<std::string_view, Positions> by_name_;     // all
  std::map<std::string_view, Positions> unnumbered_;  // those that know no index, by name
};

}  // namespace muster::rendezvous
