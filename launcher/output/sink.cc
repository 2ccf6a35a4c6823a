#include "launcher/output/sink.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr int kMaxReportedRanks = 8;  // in one line about dropped lines; the rest is summed up
constexpr Duration kRetryUnwatched = std::chrono::milliseconds(50);  // for a device epoll refuses

uint64_t count_lines(std::string_view text) {
  const auto newlines = std::count(text.begin(), text.end(), '\n');
  return std::max<uint64_t>(1, static_cast<uint64_t>(newlines));
}

void add(Loss& loss, std::string_view text) {
  loss.lines += count_lines(text);
  loss.bytes += text.size();
}

// "rank 0: 12 lines, 340 bytes; rank 3: ..."
std::string amount(const Loss& loss) {
  return counted(loss.lines, "line", "lines") + ", " + counted(loss.bytes, "byte", "bytes");
}

std::string describe(const std::map<int, Loss>& dropped) {
  std::string text;
  int named = 0;
  Loss others;
  for (const auto& [rank, loss] : dropped) {
    if (named == kMaxReportedRanks) {
      others.lines += loss.lines;
      others.bytes += loss.bytes;
      continue;
    }
    if (named++ > 0) text += "; ";
    text += rank < 0 ? "muster" : fmt::format("rank {}", rank);
    text += ": " + amount(loss);
  }
  if (others.lines > 0) text += "; others: " + amount(others);
  return text;
}

}  // namespace

Sink::Sink(Loop& loop, ConsoleFd fd, std::string name)
    : loop_(loop), fd_(std::move(fd)), name_(std::move(name)) {}

void Sink::write(const Source& source, std::string_view lines) {
  if (lines.empty()) return;
  if (is_dropping()) {
    count_dropped(source.rank, lines);
    queue_.note_gap(source);
    return;
  }
  queue_.append(source, lines);
  schedule_flush();
}

void Sink::write_own_line(std::string_view line) {
  // A worker's last words stay before what we say about its end, as long as they are read.
  if (!is_blocked() && !is_drained()) write_pending();
  if (failed_errno_ != 0 || queue_.own_size() > kOwnLinesBytes) {
    return count_dropped(kOurselves, line);
  }
  queue_.append_own(line);
  if (!is_blocked()) write_pending();
}

void Sink::count_dropped(int rank, std::string_view lines) {
  add(dropped_[rank], lines);
  add(lost_, lines);
}

void Sink::schedule_flush() {
  if (flush_scheduled_ || watch_.is_active()) return;
  flush_scheduled_ = true;
  flush_timer_ = loop_.soon([this] { flush(); });
}

void Sink::flush() {
  flush_scheduled_ = false;
  write_pending();
  if (changed_) changed_();
}

// Everything that logs stands last: the line may come back here as one of our own.
void Sink::write_pending() {
  bool progressed = false;
  int error_number = 0;
  while (!is_drained() && error_number == 0) {
    const auto written = fd_.write(queue_.unsent());
    queue_.mark_sent(written.bytes);
    progressed = progressed || written.bytes > 0;
    error_number = written.os_errno;
  }
  if (progressed) last_progress_ = loop_.now();
  const bool recovered = progressed && std::exchange(stalled_, false);
  if (error_number == EAGAIN) {
    wait_until_writable();
  } else {
    stall_timer_.reset();
    if (error_number != 0) handle_write_error(error_number);
  }
  if (recovered) report_dropped();
}

void Sink::wait_until_writable() {
  if (!is_blocked()) {
    last_progress_ = loop_.now();
    stall_timer_ = loop_.after(kStalledAfter, [this] { check_stalled(); });
  }
  if (queue_.size() >= kFullPipeFloodBytes) fd_.grow_pipe();
  if (watch_.is_active()) return;
  auto watch = loop_.watch(fd_.fd(), Interest::kWrite, [this](Ready) { on_writable(); });
  if (watch) {
    watch_ = std::move(*watch);
  } else {
    flush_scheduled_ = true;
    flush_timer_ = loop_.after(kRetryUnwatched, [this] { flush(); });
  }
}

// The watch is kept until there is nothing to write when it fires: under a flood that is never, and
// every turn is spared two system calls.
void Sink::on_writable() {
  if (!is_drained()) return flush();
  watch_.reset();
}

void Sink::check_stalled() {
  const TimePoint due = last_progress_ + kStalledAfter;
  if (loop_.now() < due) {
    stall_timer_ = loop_.at(due, [this] { check_stalled(); });
    return;
  }
  stalled_ = true;
  log::warning("output.stalled", {{"sink", name_},
                                  {"silent_s", to_seconds(kStalledAfter)},
                                  {"action", "dropping lines until it is read again"}});
  if (changed_) changed_();
}

void Sink::lose_queue() {
  if (is_drained()) return;
  add(lost_, queue_.unsent());
  queue_.clear();
}

void Sink::handle_write_error(int error_number) {
  lose_queue();
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) {
    if (std::exchange(full_errno_, error_number) != 0) return;
    log::warning("output.full",
                 {{"sink", name_},
                  {"error", errno_text(error_number)},
                  {"action", "counting what is lost, trying again with every line"}});
    return;
  }
  failed_errno_ = error_number;
  log::warning("output.failed", {{"sink", name_},
                                 {"error", errno_text(error_number)},
                                 {"action", "the job goes on without it"}});
}

void Sink::report_dropped() {
  const auto dropped = std::exchange(dropped_, {});
  if (dropped.empty()) return;
  log::warning("output.dropped", {{"sink", name_}, {"lost", describe(dropped)}});
}

void Sink::abandon() {
  lose_queue();
  watch_.reset();
  stall_timer_.reset();
  flush_timer_.reset();
  flush_scheduled_ = false;
}

std::string Sink::problem() const {
  if (lost_.bytes == 0) return "";
  const int error_number = failed_errno_ != 0 ? failed_errno_ : full_errno_;
  const std::string why = error_number != 0 ? errno_text(error_number) : "not read in time";
  return fmt::format("{}: {}: {} lost", name_, why, amount(lost_));
}

}  // namespace muster::launcher
