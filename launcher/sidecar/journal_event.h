// JournalEvent: a line of the journal as the sidecar reads it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::launcher {

/// A place in the journal: behind this line. The id tells whether it is still the same journal.
struct JournalMark {
  uint64_t seq = 0;  ///< 0 = before the first one
  std::string id;    ///< "" = unknown
  friend bool operator==(const JournalMark&, const JournalMark&) = default;
};

struct JournalEvent {
  JournalMark mark;
  std::string name;
  std::string job;
  std::string node;
  std::string line;  ///< the object as it stands there, without the line's end
  /// Of an event that says nothing any more once a newer one has the same: `progress`, by agent,
  /// attempt and rank. "" = it always counts.
  std::string replaces;
  std::string run_id = {};
};

/// None: that is no line of a journal.
[[nodiscard]] std::optional<JournalEvent> parse_event(std::string_view line);

/// Where a line stands, from its head and without parsing it: for lines that are passed over.
/// None: it has no such head.
[[nodiscard]] std::optional<JournalMark> mark_of(std::string_view line);

}  // namespace muster::launcher
