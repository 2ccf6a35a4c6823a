#include "launcher/output/line_queue.h"

#include "launcher/output/line_splitter.h"

namespace muster::launcher {

namespace {

constexpr size_t kKeptCapacityBytes = 1 << 20;  // more than a flood needs; less is not given back

// The bytes of the end of a line with which `text` begins.
size_t leading_ending(std::string_view text) {
  if (text.starts_with("\r\n")) return 2;
  return text.starts_with('\n') || text.starts_with('\r') ? 1 : 0;
}

// Stands in front of each step of a progress bar.
bool is_bare_return(std::string_view line) { return line.starts_with('\r') && line != "\r\n"; }

int key_of(const Source& source) { return source.rank * 2 + (source.is_stderr ? 1 : 0); }

}  // namespace

void LineQueue::append(const Source& source, std::string_view lines) {
  if (!source.prefix.empty()) lines = without_empty_start(source, lines);
  if (lines.empty()) return;
  begin_line(source, lines.front());
  if (source.prefix.empty()) {
    bytes_ += lines;
  } else {
    append_prefixed(source.prefix, lines);
  }
  const char last = bytes_.back();
  open_ = OpenLine{last == '\n' ? kNone : key_of(source), !source.prefix.empty(), last == '\r'};
}

// What would be a line of nothing but the prefix: the end of a line that was ended when another one
// came, and a '\r' where there is nothing to return on.
std::string_view LineQueue::without_empty_start(const Source& source, std::string_view lines) {
  const bool ended = interrupted_.erase(key_of(source)) > 0;
  if (ended) lines.remove_prefix(leading_ending(lines));
  const bool continues = open_.source == key_of(source) && !open_.after_return;
  while (!continues && is_bare_return(lines.substr(0, 2))) lines.remove_prefix(1);
  return lines;
}

void LineQueue::end_open_line() {
  bytes_ += '\n';
  interrupted_.insert(open_.source);
}

void LineQueue::begin_line(const Source& source, char first) {
  const bool continues = open_.source == key_of(source);
  const bool prefixed = open_.prefixed || !source.prefix.empty();
  if (!continues && open_.source != kNone && prefixed) end_open_line();
  const bool begins_anew = open_.after_return && first != '\n';
  if (!continues || begins_anew) bytes_ += source.prefix;
}

// All but the first line, which begin_line() has begun.
void LineQueue::append_prefixed(const std::string& prefix, std::string_view lines) {
  LineCursor cursor(lines);
  bytes_ += cursor.take(cursor.line_bytes());
  while (const size_t bytes = cursor.line_bytes()) {
    const std::string_view line = cursor.take(bytes);
    if (is_bare_return(line)) continue;
    bytes_ += prefix;
    bytes_ += line;
  }
}

void LineQueue::end_source(const Source& source) {
  if (open_.source == key_of(source)) open_.source = kNobody;
  interrupted_.erase(key_of(source));
}

void LineQueue::note_gap(const Source& source) {
  if (open_.source == key_of(source)) open_ = OpenLine{kNobody, true, false};
}

void LineQueue::append_own(std::string_view line) {
  size_t position = own_position();
  if (position == bytes_.size()) {
    if (open_.source != kNone) end_open_line();
    open_ = OpenLine{};
    position = bytes_.size();
  }
  bytes_.insert(position, line);
  own_end_ = position + line.size();
}

// The first place at or behind what was sent where a line begins, behind our own earlier lines.
size_t LineQueue::own_position() const {
  if (own_end_ > sent_) return own_end_;
  if (sent_to_line_start_) return sent_;
  const size_t newline = bytes_.find('\n', sent_);
  return newline == std::string::npos ? bytes_.size() : newline + 1;
}

void LineQueue::mark_sent(size_t count) {
  if (count == 0) return;
  sent_ += count;
  sent_to_line_start_ = bytes_[sent_ - 1] == '\n';
  // Moving the rest to the front is worth it when at least as much was sent as is moved.
  if (sent_ < size()) return;
  bytes_.erase(0, sent_);
  own_end_ = std::max(own_end_, sent_) - sent_;
  sent_ = 0;
  if (bytes_.empty() && bytes_.capacity() > kKeptCapacityBytes) bytes_.shrink_to_fit();
}

void LineQueue::clear() {
  bytes_.clear();
  sent_ = 0;
  own_end_ = 0;
  open_ = sent_to_line_start_ ? OpenLine{} : OpenLine{kNobody, true, false};
}

}  // namespace muster::launcher
