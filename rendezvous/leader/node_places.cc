#include "rendezvous/leader/node_places.h"

#include "base/socket.h"

namespace muster::rendezvous {

namespace {

// Two agents of one machine may bear one name: then their ports and numbers tell them apart.
std::string place_of(const Join& join) {
  return Address{join.host, static_cast<uint16_t>(join.port)}.to_string() + ' ' +
         describe(join.identity);
}

}  // namespace

std::optional<uint64_t> NodePlaces::last_at(const Join& join) const {
  const auto found = incarnations_.find(place_of(join));
  if (found == incarnations_.end()) return std::nullopt;
  return found->second;
}

void NodePlaces::take(const Join& join, const NodeTable& nodes, const Electorate& last) {
  if (incarnations_.size() >= kMaxPlaces) {
    std::erase_if(incarnations_, [&nodes, &last](const auto& entry) {
      return !nodes.contains(entry.second) && !last.has(entry.second);
    });
  }
  incarnations_[place_of(join)] = join.identity.incarnation;
}

void NodePlaces::leave(const Join& join) {
  const auto found = incarnations_.find(place_of(join));
  if (found != incarnations_.end() && found->second == join.identity.incarnation)
    incarnations_.erase(found);
}

}  // namespace muster::rendezvous
