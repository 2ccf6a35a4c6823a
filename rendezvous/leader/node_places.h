// NodePlaces: who was last at which place. A pod that is started again comes back there, and nobody
// else can be. Part of the inside of Leader. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "rendezvous/leader/node_table.h"

namespace muster::rendezvous {

/// Beyond so many, places of no node of now or of the last round are forgotten.
inline constexpr size_t kMaxPlaces = 2 * static_cast<size_t>(kMaxNodes);

class NodePlaces {
 public:
  /// Its incarnation, where `join` comes from; none = nobody was there.
  [[nodiscard]] std::optional<uint64_t> last_at(const Join& join) const;
  /// Its sender is there now. Strangers may come from ever new places: those of neither `nodes` nor
  /// the round `last` may be forgotten for it.
  void take(const Join& join, const NodeTable& nodes, const Electorate& last);
  /// Its sender is elsewhere, or goes by another name.
  void leave(const Join& join);

 private:
  std::unordered_map<std::string, uint64_t> incarnations_;
};

}  // namespace muster::rendezvous
