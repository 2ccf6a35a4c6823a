// JournalFile: the lines of a journal on the disk, in DIR/events.jsonl and the older files .1 and
// .2 beside it. It knows lines and their numbers, and nothing of what they say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "launcher/journal/journal_tally.h"

namespace muster::launcher {

/// Of one of the three files: a progress line a second fills it in eight hours.
inline constexpr size_t kMaxJournalFileBytes = 8 << 20;

class JournalFile {
 public:
  /// Makes the folder and the file if they are not there. A rotation that was broken off is
  /// completed. What stands behind the last whole line is cut off: an agent was killed while it
  /// wrote, or the disk was full. kOs; kConfig: something is there that is no journal, or the
  /// folder cannot be one.
  static Result<std::unique_ptr<JournalFile>> create(const std::string& folder,
                                                     size_t max_bytes = kMaxJournalFileBytes);
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  /// Of the last line, in whichever file it is; 0 = there is none.
  [[nodiscard]] uint64_t last_seq() const { return last_seq_; }
  /// So much was cut off when it was opened.
  [[nodiscard]] size_t cut_bytes() const { return cut_bytes_; }

  /// Appends a line, which ends with '\n', by one write(2). kOs: full, gone, read-only. Part of the
  /// line may stand there then; whoever opens the file anew cuts it off. So this object is of no
  /// use after an error.
  Status append(std::string_view line);
  /// Somebody else has removed it, or made it shorter.
  [[nodiscard]] bool was_changed() const;
  /// A line of so many bytes would make the file too large.
  [[nodiscard]] bool is_full(size_t line_bytes) const { return size_ + line_bytes > max_bytes_; }
  /// What rotate() would throw away. and what was before. Reads that file. kOs.
  Result<JournalTally> oldest() const;
  /// Begins a new file with `first` ("" or a line); the others move on, and .2 is gone. kOs, with
  /// which this object is of no use.
  Status rotate(std::string_view first);

 private:
  JournalFile(UniqueFd folder, std::string name, size_t max_bytes)
      : folder_(std::move(folder)), name_(std::move(name)), max_bytes_(max_bytes) {}
  Status complete_rotation();
  Status open_file();
  Status repair();
  Result<uint64_t> last_seq_of(const char* file) const;
  [[nodiscard]] Error error(const char* call, const char* file) const;

  UniqueFd folder_;
  std::string name_;  // of the folder
  size_t max_bytes_;
  UniqueFd file_;
  size_t size_ = 0;
  uint64_t last_seq_ = 0;
  size_t cut_bytes_ = 0;
};

/// Holds DIR/agent.lock for as long as it lives: no other agent can have it, and others see that
/// there is one. kConfig: another one has it. kOs.
Result<UniqueFd> lock_journal(const std::string& folder);

}  // namespace muster::launcher
