// WaitingLines: which clients wait for which keys, and who is woken when one comes. One line per
// key, in order of arrival. Used by Store, which decides what counts as a key having come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rendezvous/store/store_value.h"

namespace muster::rendezvous {

/// Whoever sends commands to a store; chosen by the caller, who may reuse a number after
/// Store::forget().
using ClientId = uint32_t;

/// Hash for maps from byte strings that are searched by view.
struct KeyHash {
  using is_transparent = void;
  size_t operator()(std::string_view key) const { return std::hash<std::string_view>{}(key); }
};
template <typename T>
using ByKey = std::unordered_map<std::string, T, KeyHash, std::equal_to<>>;

/// All memory is counted on the meter. Costs are per registration, whatever the length of a line.
class WaitingLines {
 public:
  /// `meter` is borrowed for the life of the lines.
  explicit WaitingLines(MemoryMeter& meter) : meter_(meter) {}
  ~WaitingLines() { clear(); }
  WaitingLines(const WaitingLines&) = delete;
  WaitingLines& operator=(const WaitingLines&) = delete;

  /// Puts the client at the end of the key's line, in addition to where it already stands (the same
  /// line included). It is woken when all its keys have come.
  void join(ClientId client, std::string_view key);
  /// The client waits for nothing any more.
  void leave(ClientId client);
  /// The key has come for everyone in its line. Returns who is woken by that, in order of arrival.
  [[nodiscard]] std::vector<ClientId> wake_all(std::string_view key);
  /// The key has come for one: the first who waits for nothing else and is therefore woken (the
  /// only element of the result), or, where all wait for more, the first of them (the result is
  /// empty).
  [[nodiscard]] std::vector<ClientId> wake_one(std::string_view key);
  void clear();

  [[nodiscard]] size_t waiting_clients() const { return waits_.size(); }

 private:
  struct Place {
    ClientId client = 0;
    size_t index = 0;  // of this registration in the client's list
  };
  using Line = std::list<Place>;
  using Lines = ByKey<Line>;
  struct Registration {
    Lines::value_type* line = nullptr;  // null once this key has come
    Line::iterator place;
  };
  struct Wait {
    std::vector<Registration> registrations;
    size_t outstanding = 0;
  };

  bool take_out(Line& line, Line::iterator place);
  void close(Lines::value_type& line);

  MemoryMeter& meter_;
  Lines lines_;  // no empty ones
  std::unordered_map<ClientId, Wait> waits_;
};

}  // namespace muster::rendezvous
