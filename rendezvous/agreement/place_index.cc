#include "rendezvous/agreement/place_index.h"

#include <algorithm>

namespace muster::rendezvous {

namespace {

template <typename Map, typename Key>
std::optional<size_t> lowest(const Map& map, const Key& key) {
  const auto found = map.find(key);
  if (found == map.end() || found->second.empty()) return std::nullopt;
  return *found->second.begin();
}

template <typename Map, typename Key>
size_t count(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? 0 : found->second.size();
}

}  // namespace

size_t PlaceIndex::add(const NodeIdentity& identity) {
  const size_t position = all_.size();
  all_.push_back(&identity);
  by_name_[identity.name].insert(position);
  (identity.index ? by_number_[*identity.index] : unnumbered_[identity.name]).insert(position);
  return position;
}

std::optional<size_t> PlaceIndex::find(const NodeIdentity& identity) const {
  if (!identity.index) return lowest(by_name_, std::string_view(identity.name));
  const auto numbered = lowest(by_number_, *identity.index);
  const auto named = lowest(unnumbered_, std::string_view(identity.name));
  return numbered && named ? std::min(numbered, named) : numbered ? numbered : named;
}

std::optional<size_t> PlaceIndex::find_only(const NodeIdentity& identity) const {
  const std::string_view name = identity.name;
  const size_t all = identity.index ? count(by_number_, *identity.index) + count(unnumbered_, name)
                                    : count(by_name_, name);
  return all == 1 ? find(identity) : std::nullopt;
}

void PlaceIndex::remove(size_t position) {
  const NodeIdentity& identity = *all_.at(position);
  by_name_[identity.name].erase(position);
  (identity.index ? by_number_[*identity.index] : unnumbered_[identity.name]).erase(position);
}

}  // namespace muster::rendezvous
