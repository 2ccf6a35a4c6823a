// A line of the journal: an event of the log with what says when, where and of which job it was.
// docs/observability.md is the page of its format. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"

namespace muster::launcher {

/// Of one line with its end. A report's last lines are 30 of at most 400 bytes, and an escape makes
/// six of one. A line that would be longer has its head only, and "cut": true.
inline constexpr size_t kMaxJournalLineBytes = 128 * 1024;

/// What all lines of an agent have in common.
struct JournalPlace {
  std::string job;
  std::string run_id;
  std::string node;
};

/// Where a line stands in the journal, and when it was written.
struct JournalStamp {
  uint64_t seq = 0;     ///< from 1, one more with each line
  std::string_view id;  ///< of this line and of no other, ever
  WallTime time;        ///< may jump
  TimePoint monotonic;  ///< does not, but begins anew with the machine
};

/// {"id":…,"seq":…,"time":…,"monotonic_ms":…,"level":…,"event":…,"job":…,"run_id":…,"node":…, then
/// the event's fields} and '\n'. Fields that are empty are left out. So are `round`, `attempt`,
/// `rank` and `code` that are no numbers, as the rank of a launcher. An event's field that is
/// called as one of the head is left out if it says the same, else it is called event_NAME.
[[nodiscard]] std::string journal_line(const JournalPlace& place, const JournalStamp& stamp,
                                       const log::Event& event);

/// `seq` of a line without its end; none: that is no line of a journal.
[[nodiscard]] std::optional<uint64_t> seq_of_line(std::string_view line);

}  // namespace muster::launcher
