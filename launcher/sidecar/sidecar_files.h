// The files that a sidecar keeps beside the journal: how far each receiver has been told, and what
// it has refused for good. Small, blocking, on a local disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/sidecar/journal_event.h"

namespace muster::launcher {

/// Of the dead letters of one receiver. The file before it is kept as well.
inline constexpr size_t kMaxDeadLetterBytes = 1 << 20;

/// How far a receiver was told.
struct Cursor {
  JournalMark mark;
  bool has_end = false;  ///< the job's end is before it, and no other job
};

/// DIR/sidecar.NAME.cursor.
class CursorFile {
 public:
  CursorFile(std::string folder, const std::string& name);

  /// The beginning, if there is no such file or nothing in it that can be read: events are told
  /// again then, with the same ids, and none is left out.
  [[nodiscard]] Cursor read() const;
  /// By another file and rename(2), so that a SIGKILL leaves the old one or the new one. It is not
  /// synced: after the machine's end an older one is there, and events are told twice. kOs.
  Status write(const Cursor& cursor) const;

 private:
  std::string folder_;
  std::string path_;
};

/// Of the name of their file, before the number of an older one.
inline constexpr std::string_view kDeadLetterEnding = ".dead.jsonl";

/// DIR/sidecar.NAME.dead.jsonl: one line {"status", "answer", "event"} for each event.
class DeadLetters {
 public:
  DeadLetters(const std::string& folder, const std::string& name,
              size_t max_bytes = kMaxDeadLetterBytes);

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Appends them. `answer`: the first words of what the receiver said. kOs.
  Status add(const std::vector<JournalEvent>& events, int status, const std::string& answer) const;

 private:
  std::string path_;
  size_t max_bytes_;
};

/// Holds DIR/sidecar.lock for as long as it lives. kConfig, EWOULDBLOCK: another sidecar has it.
/// kConfig: files cannot be made there. kOs.
Result<UniqueFd> lock_sidecar(const std::string& folder);

/// An agent lives that writes DIR's journal: it holds agent.lock (journal_file.h). O(1).
[[nodiscard]] bool agent_is_there(const std::string& folder);

}  // namespace muster::launcher
