// JournalTally: what a journal's file holds, in short, for when it is thrown away. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace muster::launcher {

/// The event that says what was thrown away: first_seq, last_seq, events {name: how many}.
inline constexpr std::string_view kEventDropped = "journal.dropped";

struct JournalTally {
  uint64_t first_seq = 0;  ///< 0 = there is no line
  uint64_t last_seq = 0;
  std::map<std::string, uint64_t, std::less<>> events;  ///< by name

  /// Adds one line without its end; what is no line of a journal counts as nothing. It is not
  /// parsed, only searched: a file has thousands.
  void add(std::string_view line);
  /// Adds what a kEventDropped tells of; nothing, of another line.
  void add_told(std::string_view line);
  /// {"worker.exit":3,…}
  [[nodiscard]] std::string events_as_json() const;

 private:
  void widen(uint64_t first, uint64_t last);
};

}  // namespace muster::launcher
