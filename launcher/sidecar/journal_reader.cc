#include "launcher/sidecar/journal_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace muster::launcher {

namespace {

constexpr std::array kNames = {"events.jsonl", "events.jsonl.1", "events.jsonl.2"};

bool same_file(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

// 0 = there is no line yet.
uint64_t first_seq(int fd) {
  std::string text(512, '\0');  // a head has a tenth of it
  const ssize_t count = pread(fd, text.data(), text.size(), 0);
  if (count <= 0) return 0;
  const auto mark = mark_of(std::string_view(text).substr(0, static_cast<size_t>(count)));
  return mark ? mark->seq : 0;
}

}  // namespace

JournalReader::JournalReader(std::string folder, JournalMark mark, uint64_t told)
    : folder_(std::move(folder)), last_(std::move(mark)), told_(told) {}

// Somebody may have put a link there, or a pipe, which would keep us waiting.
UniqueFd JournalReader::open_file(const char* name) const {
  return UniqueFd(
      ::open((folder_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

// The newest file in which the next line can be; where none begins early enough, the oldest: then
// lines are gone. A file that turns while this looks is found under its next name.
bool JournalReader::locate() {
  UniqueFd best;
  uint64_t best_first = 0;
  for (const char* name : kNames) {
    UniqueFd fd = open_file(name);
    struct stat found {};
    if (!fd.is_open() || fstat(fd.get(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    const uint64_t first = first_seq(fd.get());
    if (first == 0) continue;
    best = std::move(fd);
    best_first = first;
    if (first <= last_.seq + 1) break;
  }
  if (best_first == 0) return false;
  struct stat chosen {};
  struct stat open {};
  if (file_.is_open() && fstat(best.get(), &chosen) == 0 && fstat(file_.get(), &open) == 0 &&
      same_file(chosen, open) && static_cast<size_t>(chosen.st_size) >= offset_) {
    return true;  // the next file has no line yet
  }
  file_ = std::move(best);
  offset_ = 0;
  highest_ = 0;
  too_long_ = false;
  return true;
}

bool JournalReader::is_current() const {
  struct stat named {};
  struct stat open {};
  return stat((folder_ + "/" + kNames[0]).c_str(), &named) == 0 && fstat(file_.get(), &open) == 0 &&
         same_file(named, open) && static_cast<size_t>(open.st_size) >= offset_;
}

std::vector<JournalEvent> JournalReader::read() {
  std::vector<JournalEvent> events;
  at_end_ = false;
  if (!file_.is_open() && !locate()) {
    at_end_ = true;
    return events;
  }
  // Before the read: what was written before the file turned is then seen by it.
  const bool current = is_current();
  std::string bytes(kJournalReadBytes, '\0');
  const ssize_t count = pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset_));
  const bool is_full = count == static_cast<ssize_t>(bytes.size());
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  const size_t end = bytes.rfind('\n');
  if (end != std::string::npos || is_full) {
    // Of a line that has not ended in so many bytes, only the end is waited for.
    if (end != std::string::npos) bytes.resize(end + 1);
    offset_ += bytes.size();
    take_bytes(bytes, events);
    return events;
  }
  if (!current) {
    const int before = file_.get();
    const size_t offset = offset_;
    // A turned file, or one that was made shorter: the next lines are in another one, or begin
    // here again.
    if (locate() && (file_.get() != before || offset_ != offset)) return events;
  }
  at_end_ = !restart_if_other_journal();
  return events;
}

void JournalReader::take_bytes(std::string_view bytes, std::vector<JournalEvent>& events) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      too_long_ = true;
      return;
    }
    if (!std::exchange(too_long_, false)) take_line(bytes.substr(0, end), events);
    if (!file_.is_open()) return;  // it is another journal, which is read from its beginning
    bytes.remove_prefix(end + 1);
  }
}

void JournalReader::take_line(std::string_view line, std::vector<JournalEvent>& events) {
  const auto mark = mark_of(line);
  if (!mark) return;
  highest_ = std::max(highest_, mark->seq);
  const bool is_last = mark->seq == last_.seq;
  if (is_last && !last_.id.empty() && mark->id != last_.id) return begin_anew();
  if (mark->seq <= last_.seq) return;
  auto event = parse_event(line);
  if (!event) return;
  const uint64_t known = std::max(last_.seq, told_);
  if (event->mark.seq > known) missed_ += event->mark.seq - known - 1;
  last_ = event->mark;
  events.push_back(*std::move(event));
}

// Somebody has thrown the journal away, and another one has begun: its numbers say nothing of ours.
void JournalReader::begin_anew() {
  last_ = {};
  told_ = 0;
  highest_ = 0;
  file_.reset();
}

bool JournalReader::restart_if_other_journal() {
  if (highest_ == 0 || highest_ >= last_.seq) return false;
  begin_anew();
  return true;
}

}  // namespace muster::launcher
