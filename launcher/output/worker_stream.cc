#include "launcher/output/worker_stream.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr ssize_t kTerminalReadBytes = 4095;  // one less than N_TTY_BUF_SIZE of Linux

std::string_view without_ending(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::vector<std::string> last_lines_of(std::string_view text) {
  const bool is_cut = text.size() >= kRecentBytes;
  text.remove_prefix(text.size() - std::min(text.size(), kRecentBytes));
  LineCursor cursor(text);
  std::vector<std::string> lines;
  while (const size_t bytes = cursor.line_bytes()) {
    lines.push_back(printable_utf8(without_ending(cursor.take(bytes))));
  }
  if (is_cut && lines.size() > 1) lines.erase(lines.begin());
  std::erase_if(lines, [](const std::string& line) { return trim(line).empty(); });
  if (lines.size() > kMaxLastLines) {
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxLastLines));
  }
  return lines;
}

WorkerStream::WorkerStream(Source source, Sink* sink, UniqueFd pipe, std::optional<LogFile> file,
                           FilteredFile* filtered)
    : source_(std::move(source)),
      sink_(sink),
      pipe_(std::move(pipe)),
      file_(std::move(file)),
      filtered_(filtered) {}

Status WorkerStream::watch(Loop& loop, std::function<void()> readable) {
  auto watch =
      loop.watch(pipe_.get(), Interest::kRead, [called = std::move(readable)](Ready) { called(); });
  if (!watch) return std::move(watch).error();
  watch_ = std::move(*watch);
  loop_ = &loop;
  return {};
}

void WorkerStream::pause() {
  paused_ = true;
  watch_.set_interest(Interest::kNothing);
}

void WorkerStream::resume() {
  paused_ = false;
  watch_.set_interest(Interest::kRead);
}

bool WorkerStream::is_read_often(TimePoint now) {
  if (now - reads_since_ >= kRest) {
    reads_since_ = now;
    reads_ = 0;
  }
  return ++reads_ >= kReadsPerRest;
}

size_t WorkerStream::read_once(std::span<char> buffer) {
  const ssize_t got = ::read(pipe_.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) {
    close();
    return 0;
  }
  auto bytes = static_cast<size_t>(got);
  // A terminal gives no more at once, however much there is.
  for (ssize_t more = got; more == kTerminalReadBytes && bytes < buffer.size();) {
    more = ::read(pipe_.get(), buffer.data() + bytes, buffer.size() - bytes);
    if (more > 0) bytes += static_cast<size_t>(more);
  }
  if (bytes >= kFloodBytes) grow_pipe();
  take(std::string_view(buffer.data(), bytes));
  return bytes;
}

// A writer that fills a whole pipe between two reads is held up by it: with more room it is
// switched out less often. Only then: all pipes of a user share one limit (pipe(7),
// pipe-user-pages-soft).
void WorkerStream::grow_pipe() {
  if (std::exchange(pipe_is_grown_, true)) return;
  // Refused beyond that limit; then it stays as it is.
  (void)fcntl(pipe_.get(), F_SETPIPE_SZ, static_cast<int>(kGrownPipeBytes));
}

void WorkerStream::drain(std::span<char> buffer) {
  if (!is_open()) return;
  int available = 0;
  // A failure leaves 0: then one read, which does not wait either.
  (void)ioctl(pipe_.get(), FIONREAD, &available);
  auto left = static_cast<size_t>(available);
  while (left > 0 && is_open()) {
    const size_t got = read_once(buffer);
    if (got == 0) break;
    left -= std::min(left, got);
  }
  // One more finds the end of the stream, when nobody holds the pipe any longer.
  if (is_open()) (void)read_once(buffer);
}

void WorkerStream::close() {
  if (!is_open()) return;
  watch_.reset();
  unfinished_timer_.reset();
  pipe_.reset();
  const std::string unfinished = splitter_.finish();
  if (!unfinished.empty()) pass_on(unfinished);
  if (sink_ != nullptr) sink_->end_source(source_);
  if (file_) file_->report_lost();
  file_.reset();
}

void WorkerStream::take(std::string_view chunk) {
  remember(chunk);
  if (file_) file_->write(chunk);
  if (sink_ == nullptr && !passed_) return;
  splitter_.feed(chunk);
  while (const auto lines = splitter_.next_block()) pass_on(*lines);
  await_end_of_line();
}

// The timer is armed once for many reads: most lines that were cut by a read end in the next one.
void WorkerStream::await_end_of_line() {
  if (loop_ == nullptr || sink_ == nullptr || splitter_.unfinished().size() <= shown_bytes_) return;
  last_read_ = loop_->now();
  if (unfinished_timer_.is_active()) return;
  unfinished_timer_ = loop_->after(source_.unfinished_after, [this] { show_unfinished(); });
}

void WorkerStream::show_unfinished() {
  const std::string_view line = splitter_.unfinished();
  if (line.size() <= shown_bytes_) return;
  // A stream that may not be read is not silent.
  const TimePoint due =
      paused_ ? loop_->now() + source_.unfinished_after : last_read_ + source_.unfinished_after;
  if (loop_->now() < due) {
    unfinished_timer_ = loop_->at(due, [this] { show_unfinished(); });
    return;
  }
  sink_->write(source_, line.substr(std::exchange(shown_bytes_, line.size())));
}

// What was unfinished stands at the beginning of what comes next.
void WorkerStream::pass_on(std::string_view lines) {
  if (sink_ != nullptr) sink_->write(source_, lines.substr(std::exchange(shown_bytes_, 0)));
  if (filtered_ != nullptr) filtered_->offer(source_.prefix, lines);
  if (passed_) passed_(lines);
}

// Appends, and moves the rest to the front only once per kRecentBytes.
void WorkerStream::remember(std::string_view chunk) {
  chunk.remove_prefix(chunk.size() - std::min(chunk.size(), kRecentBytes));
  if (recent_.size() + chunk.size() > 2 * kRecentBytes) {
    recent_.erase(0, recent_.size() - (kRecentBytes - chunk.size()));
  }
  recent_ += chunk;
}

}  // namespace muster::launcher
