// The bytes of one stream as lines, whatever way reads cut them. Pure: no descriptor, no clock.
// Used for what workers print; it knows nothing of ranks, prefixes or files.
//
// "\n", "\r\n" and a lone '\r' (progress bars) end a line and stay with it; every other byte, NUL
// and broken UTF-8 among them, is content.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace muster::launcher {

/// A line longer than this (its ending not counted) comes out in pieces of exactly this size, the
/// rest of it last: it bounds what one stream may hold in memory. Longer than any line people read;
/// container runtimes split at 16 KiB (containerd, CRI log format).
inline constexpr size_t kMaxLineBytes = 1 << 20;

/// Walks over the lines of a text that lies in memory. In this header because it is asked once per
/// line: half of what prefixing costs would be calls otherwise.
class LineCursor {
 public:
  LineCursor() = default;
  explicit LineCursor(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string_view rest() const { return rest_; }
  /// Bytes of the next line with its ending, or of all that is left when there is no more ending;
  /// 0 = nothing is left. The next '\n' and '\r' are remembered, so that a text full of one is not
  /// searched for the other at every line.
  [[nodiscard]] size_t line_bytes();
  /// The next `bytes` of rest().
  std::string_view take(size_t bytes) {
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

 private:
  static const char* find(std::string_view text, char wanted) {
    const void* found = memchr(text.data(), wanted, text.size());
    return found == nullptr ? text.data() + text.size() : static_cast<const char*>(found);
  }
  // True when `found` was not searched for yet or lies before the rest.
  [[nodiscard]] bool is_stale(const char* found) const {
    return found == nullptr || found < rest_.data();
  }

  std::string_view rest_;
  const char* newline_ = nullptr;          // the first in rest_, its end when there is none
  const char* carriage_return_ = nullptr;  // as newline_
};

/// Puts together what reads have cut. What comes out, joined, is what went in, and where lines end
/// does not depend on how the stream was cut.
///
///   splitter.feed(chunk);
///   while (auto lines = splitter.next_block()) use(*lines);
///   ...                                  // at the end of the stream:
///   use(splitter.finish());
class LineSplitter {
 public:
  /// The next bytes. `chunk` is borrowed until next() or next_block() has answered none, which they
  /// must before the next feed(). O(1).
  void feed(std::string_view chunk) { chunk_ = LineCursor(chunk); }

  /// The next complete line, or piece of one that is too long; none = the rest is kept until more
  /// comes. The view is good until the next call of anything here: a line that lies whole in the
  /// chunk is not copied.
  std::optional<std::string_view> next();

  /// As next(), but as many complete lines at once as lie whole in the chunk.
  std::optional<std::string_view> next_block();

  /// What is kept of a line that has no end yet, or of one that ends with '\r', which a '\n' may
  /// follow. After next() or next_block() answered none; the next line begins with it.
  [[nodiscard]] std::string_view unfinished() const { return held_; }

  /// The unfinished rest at the end of the stream, "" when there is none. The splitter is empty
  /// afterwards.
  std::string finish();

 private:
  std::optional<std::string_view> next_held();
  std::optional<std::string_view> hold_rest();
  std::optional<size_t> complete_bytes(size_t limit_bytes);
  void release_handed_out();

  std::string held_;  // the unfinished start of a line; ends with '\r' only when that may be "\r\n"
  bool held_is_handed_out_ = false;  // held_ is the line that next() returned last
  LineCursor chunk_;                 // what is left of it
};

inline size_t LineCursor::line_bytes() {
  if (rest_.empty()) return 0;
  if (is_stale(newline_)) newline_ = find(rest_, '\n');
  if (is_stale(carriage_return_)) carriage_return_ = find(rest_, '\r');
  const char* begin = rest_.data();
  if (newline_ < carriage_return_) return static_cast<size_t>(newline_ - begin) + 1;
  const char* end = begin + rest_.size();
  if (carriage_return_ == end) return rest_.size();
  const auto bytes = static_cast<size_t>(carriage_return_ - begin) + 1;
  return newline_ == carriage_return_ + 1 && newline_ != end ? bytes + 1 : bytes;
}

}  // namespace muster::launcher
