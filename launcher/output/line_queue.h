// LineQueue: lines of many writers on their way to one descriptor, in order and never mixed. Pure:
// it is told what was written and does not write. What to do with a reader that is slow or gone is
// sink.h's.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace muster::launcher {

/// A line without an end is shown after so long a silence: a progress bar, a prompt, "Loading... ".
/// Shorter than people notice, longer than a writer is held up in the middle of a line.
inline constexpr Duration kUnfinishedShownAfter = std::chrono::milliseconds(100);

/// One stream of one worker, as a writer.
struct Source {
  int rank = 0;
  bool is_stderr = false;
  std::string prefix;  ///< before every line; "" = none
  Duration unfinished_after = kUnfinishedShownAfter;
};

class LineQueue {
 public:
  /// Adds complete lines, or one piece or unfinished rest of a line, as LineSplitter gives them. A
  /// line that another writer left unfinished is ended first when either has a prefix; without
  /// prefixes bytes pass unchanged. '\r' does not end a line for this: its writer may go on on it,
  /// or end it with a '\n' that comes later. With a prefix, a '\r' at the beginning of a line and
  /// the end of a line that was ended for another writer's are left out: they would show nothing
  /// but the prefix.
  void append(const Source& source, std::string_view lines);
  /// No more comes from `source`: what it left unfinished is nobody's to continue.
  void end_source(const Source& source);
  /// Bytes of `source` were lost: what comes after the gap must not go on with a line from before.
  void note_gap(const Source& source);
  /// Adds a line of our own, with '\n': before the lines that wait, at the first end of a line.
  void append_own(std::string_view line);

  /// What is to be written next; good until anything is added.
  [[nodiscard]] std::string_view unsent() const { return std::string_view(bytes_).substr(sent_); }
  [[nodiscard]] size_t size() const { return bytes_.size() - sent_; }
  /// Bytes until the last of our own lines that overtook is written.
  [[nodiscard]] size_t own_size() const { return std::max(own_end_, sent_) - sent_; }
  /// The first `count` bytes of unsent() were written. Amortised O(count).
  void mark_sent(size_t count);
  /// Forgets what is unsent. When that cuts a line in two, the next line begins with '\n'.
  void clear();

 private:
  // The line at the end that has no '\n' yet, and who may go on with it.
  struct OpenLine {
    int source = kNone;
    bool prefixed = false;
    bool after_return = false;  // it ends with '\r': its writer begins anew, with prefix
  };
  static constexpr int kNone = -1;    // there is no such line
  static constexpr int kNobody = -2;  // its writer is gone

  [[nodiscard]] std::string_view without_empty_start(const Source& source, std::string_view lines);
  void end_open_line();
  void begin_line(const Source& source, char first);
  void append_prefixed(const std::string& prefix, std::string_view lines);
  [[nodiscard]] size_t own_position() const;

  std::string bytes_;
  size_t sent_ = 0;
  size_t own_end_ = 0;              // behind the last of our own lines that overtook
  bool sent_to_line_start_ = true;  // the last byte sent was '\n'
  OpenLine open_;
  std::set<int> interrupted_;  // whose line was ended for another's, until they go on
};

}  // namespace muster::launcher
