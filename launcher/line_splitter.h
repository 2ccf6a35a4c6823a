// LineSplitter: the bytes of one stream as lines, whatever way reads cut them. Pure: no descriptor,
// no clock. Used for what workers print; it knows nothing of ranks, prefixes or files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::launcher {

/// A line longer than this (its ending not counted) comes out in pieces of exactly this size, the
/// rest of it last: it bounds what one stream may hold in memory. Longer than any line people read;
/// container runtimes split at 16 KiB (containerd, CRI log format).
inline constexpr size_t kMaxLineBytes = 1 << 20;

/// Lines keep their ending. "\n", "\r\n" and a lone '\r' (progress bars) end a line, "\r\n" also
/// when a read cut it in two; every other byte, NUL and broken UTF-8 among them, is content. What
/// comes out, put together, is what went in; where the lines end does not depend on how it was cut.
///
///   splitter.feed(chunk);
///   while (auto line = splitter.next()) use(*line);
///   ...                                  // at the end of the stream:
///   use(splitter.finish());
class LineSplitter {
 public:
  /// The next bytes. `chunk` is borrowed until next() or next_block() has answered none, which they
  /// must before the next feed(). O(1).
  void feed(std::string_view chunk);

  /// The next complete line or piece; none = the rest is kept until more comes. The view is good
  /// until the next call of anything here: a line that lies whole in the chunk is not copied.
  std::optional<std::string_view> next();

  /// As next(), but many complete lines at once where that needs no copy.
  std::optional<std::string_view> next_block();

  /// The unfinished rest at the end of the stream, "" when there is none. The splitter is empty
  /// afterwards.
  std::string finish();

 private:
  std::optional<std::string_view> next_held();
  size_t line_size(size_t limit_bytes);
  size_t block_size();
  std::string_view take(size_t size);
  void release_handed_out();

  std::string held_;  // the unfinished start of a line; ends with '\r' only when that may be "\r\n"
  bool held_is_handed_out_ = false;  // held_ is the line that next() returned last
  std::string_view rest_;            // of the chunk
  // The first of each in rest_, end of rest_ when there is none; stale when before its start.
  // Remembered, so that a chunk full of one ending is not searched for the other at every line.
  const char* newline_ = nullptr;
  const char* carriage_return_ = nullptr;
};

}  // namespace muster::launcher
