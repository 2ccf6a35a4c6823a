// JournalReader: the lines of a journal from a place on, over the turns of its files. It reads what
// another process writes (launcher/journal/journal_file.h) and waits for nothing: whoever knows
// that there may be more asks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "launcher/journal/journal_line.h"
#include "launcher/sidecar/journal_event.h"

namespace muster::launcher {

/// Of one read(2): a turn of the loop takes no more of the disk. A line of a journal fits in it.
inline constexpr size_t kJournalReadBytes = kMaxJournalLineBytes + 1;

class JournalReader {
 public:
  /// Begins behind `mark`. `folder` need not exist. Nothing up to the number `told` is missed.
  JournalReader(std::string folder, JournalMark mark, uint64_t told = 0);
  JournalReader(const JournalReader&) = delete;
  JournalReader& operator=(const JournalReader&) = delete;

  /// The next lines in their order, of at most kJournalReadBytes; what is none of a journal is
  /// passed over. A last line without its end is left: its writer may have died, and the next agent
  /// cuts it off. Nothing: there is no more now, or
  /// all was passed over; at_end() tells.
  std::vector<JournalEvent> read();
  /// The last read() found no more. True as well while there is no journal.
  [[nodiscard]] bool at_end() const { return at_end_; }
  /// Lines that were thrown away before they were read, since this was last asked.
  [[nodiscard]] uint64_t take_missed() { return std::exchange(missed_, 0); }

 private:
  bool locate();
  UniqueFd open_file(const char* name) const;
  void take_bytes(std::string_view bytes, std::vector<JournalEvent>& events);
  void take_line(std::string_view line, std::vector<JournalEvent>& events);
  [[nodiscard]] bool is_current() const;
  void begin_anew();
  bool restart_if_other_journal();

  std::string folder_;
  JournalMark last_;  // read, or before which the reader began
  UniqueFd file_;
  size_t offset_ = 0;      // in file_, behind the end of a line, or in one that is too long
  bool too_long_ = false;  // what follows up to the line's end is no line of ours
  uint64_t highest_ = 0;   // number seen in file_
  bool at_end_ = false;
  uint64_t told_;
  uint64_t missed_ = 0;
};

}  // namespace muster::launcher
