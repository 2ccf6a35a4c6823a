#include "launcher/line_splitter.h"

#include <string.h>

#include <algorithm>
#include <utility>

namespace muster::launcher {

namespace {

constexpr size_t kKeptCapacityBytes = 16 * 1024;  // memory a stream keeps after a very long line

const char* find_or_end(const char* begin, const char* end, char wanted) {
  const void* found = memchr(begin, wanted, static_cast<size_t>(end - begin));
  return found == nullptr ? end : static_cast<const char*>(found);
}

// Bytes up to and with the last `wanted`, 0 = there is none.
size_t size_with_last(std::string_view text, char wanted) {
  const void* found = memrchr(text.data(), wanted, text.size());
  return found == nullptr ? 0
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data()) + 1;
}

}  // namespace

void LineSplitter::feed(std::string_view chunk) {
  rest_ = chunk;
  newline_ = nullptr;
  carriage_return_ = nullptr;
}

std::optional<std::string_view> LineSplitter::next() {
  release_handed_out();
  if (rest_.empty()) return std::nullopt;
  if (!held_.empty()) return next_held();
  const size_t size = line_size(kMaxLineBytes);
  if (size > 0) return take(size);
  held_.assign(std::exchange(rest_, {}));
  return std::nullopt;
}

std::optional<std::string_view> LineSplitter::next_block() {
  release_handed_out();
  const size_t size = held_.empty() ? block_size() : 0;
  if (size > 0) return take(size);
  return next();
}

std::string LineSplitter::finish() {
  release_handed_out();
  std::string unfinished = std::exchange(held_, {});
  unfinished += std::exchange(rest_, {});
  return unfinished;
}

// The line that began in an earlier chunk.
std::optional<std::string_view> LineSplitter::next_held() {
  size_t size = 0;
  if (held_.back() == '\r') {
    size = rest_.front() == '\n' ? 1 : 0;
  } else {
    size = line_size(kMaxLineBytes - held_.size());
    if (size == 0) {
      held_.append(std::exchange(rest_, {}));
      return std::nullopt;
    }
  }
  held_.append(take(size));
  held_is_handed_out_ = true;
  return held_;
}

// Size of the first line of rest_, or `limit_bytes` when it has no ending within them; 0 = cannot
// be told yet.
size_t LineSplitter::line_size(size_t limit_bytes) {
  const char* begin = rest_.data();
  const char* end = begin + rest_.size();
  if (newline_ == nullptr || newline_ < begin) newline_ = find_or_end(begin, end, '\n');
  if (carriage_return_ == nullptr || carriage_return_ < begin)
    carriage_return_ = find_or_end(begin, end, '\r');
  const char* ending = std::min(newline_, carriage_return_);
  const auto content = static_cast<size_t>(ending - begin);
  if (content >= limit_bytes) return limit_bytes;
  if (ending == end) return 0;
  if (ending == newline_) return content + 1;
  if (ending + 1 == end) return 0;  // a '\n' may follow in the next chunk
  return ending[1] == '\n' ? content + 2 : content + 1;
}

// Bytes of rest_ that are whole lines; 0 = none.
size_t LineSplitter::block_size() {
  if (rest_.empty()) return 0;
  const size_t lines = size_with_last(rest_, '\n');
  if (lines == rest_.size()) return lines;
  // A '\r' that ends the chunk does not count: a '\n' may follow.
  return lines + size_with_last(rest_.substr(lines, rest_.size() - lines - 1), '\r');
}

std::string_view LineSplitter::take(size_t size) {
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void LineSplitter::release_handed_out() {
  if (!held_is_handed_out_) return;
  held_is_handed_out_ = false;
  held_.clear();
  if (held_.capacity() > kKeptCapacityBytes) held_.shrink_to_fit();
}

}  // namespace muster::launcher
