#include "launcher/output/line_splitter.h"

#include <string.h>

#include <utility>

namespace muster::launcher {

namespace {

constexpr size_t kKeptCapacityBytes = 16 * 1024;  // memory a stream keeps after a very long line

// Bytes up to and with the last `wanted`, 0 = there is none.
size_t bytes_to_last(std::string_view text, char wanted) {
  const void* found = memrchr(text.data(), wanted, text.size());
  return found == nullptr ? 0
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data()) + 1;
}

// Bytes of `text` (not empty) that are whole lines; 0 = none.
size_t whole_lines(std::string_view text) {
  const size_t lines = bytes_to_last(text, '\n');
  if (lines == text.size()) return lines;
  // A '\r' that ends the chunk does not count: a '\n' may follow.
  return lines + bytes_to_last(text.substr(lines, text.size() - lines - 1), '\r');
}

size_t ending_bytes(std::string_view line) {
  if (line.ends_with("\r\n")) return 2;
  return line.ends_with('\n') || line.ends_with('\r') ? 1 : 0;
}

}  // namespace

std::optional<std::string_view> LineSplitter::next() {
  release_handed_out();
  if (chunk_.rest().empty()) return std::nullopt;
  if (!held_.empty()) return next_held();
  const auto bytes = complete_bytes(kMaxLineBytes);
  return bytes ? chunk_.take(*bytes) : hold_rest();
}

std::optional<std::string_view> LineSplitter::next_block() {
  release_handed_out();
  if (chunk_.rest().empty()) return std::nullopt;
  if (!held_.empty()) return next_held();
  const size_t lines = whole_lines(chunk_.rest());
  return lines > 0 ? chunk_.take(lines) : next();
}

std::string LineSplitter::finish() {
  release_handed_out();
  std::string unfinished = std::exchange(held_, {});
  unfinished += std::exchange(chunk_, {}).rest();
  return unfinished;
}

// The line that began in an earlier chunk.
std::optional<std::string_view> LineSplitter::next_held() {
  std::optional<size_t> bytes;
  if (held_.back() == '\r') {
    bytes = chunk_.rest().front() == '\n' ? 1 : 0;
  } else {
    bytes = complete_bytes(kMaxLineBytes - held_.size());
  }
  if (!bytes) return hold_rest();
  held_ += chunk_.take(*bytes);
  held_is_handed_out_ = true;
  return held_;
}

std::optional<std::string_view> LineSplitter::hold_rest() {
  held_ += chunk_.take(chunk_.rest().size());
  return std::nullopt;
}

// Size of the first line of the chunk, or `limit_bytes` when its content is as long; none = it
// cannot be told yet.
std::optional<size_t> LineSplitter::complete_bytes(size_t limit_bytes) {
  const size_t bytes = chunk_.line_bytes();
  const std::string_view line = chunk_.rest().substr(0, bytes);
  if (bytes - ending_bytes(line) >= limit_bytes) return limit_bytes;
  // Without '\n' it may go on in the next chunk, also behind a '\r'.
  const bool may_go_on = bytes == chunk_.rest().size() && line.back() != '\n';
  return may_go_on ? std::nullopt : std::optional(bytes);
}

void LineSplitter::release_handed_out() {
  if (!held_is_handed_out_) return;
  held_is_handed_out_ = false;
  held_.clear();
  if (held_.capacity() > kKeptCapacityBytes) held_.shrink_to_fit();
}

}  // namespace muster::launcher
