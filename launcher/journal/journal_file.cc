#include "launcher/journal/journal_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/files.h"
#include "launcher/journal/journal_line.h"

namespace muster::launcher {

namespace {

constexpr const char* kCurrent = "events.jsonl";
constexpr const char* kOlder = "events.jsonl.1";
constexpr const char* kOldest = "events.jsonl.2";
constexpr const char* kNext = "events.jsonl.new";  // while files move on
constexpr const char* kLock = "agent.lock";
constexpr mode_t kMode = 0644;
constexpr int kAppend = O_APPEND | O_CREAT;
// Somebody may have put a link there, or a pipe, which would keep us waiting.
constexpr int kCareful = O_NOFOLLOW | O_NONBLOCK;
// The last whole line is looked for in so much: it and one that was torn fit.
constexpr size_t kTailBytes = 2 * kMaxJournalLineBytes;
constexpr size_t kReadBytes = 64 * 1024;

// A folder that somebody named and that cannot be one is their setting; a full disk is not.
Error named(Error error, const std::string& folder) {
  constexpr std::array kWrongPlace = {ENOTDIR, EEXIST, EACCES, EPERM, ENAMETOOLONG, ELOOP};
  if (std::ranges::find(kWrongPlace, error.os_errno) != kWrongPlace.end())
    error.code = Code::kConfig;
  return std::move(error).with_context("journal in " + folder);
}

Result<UniqueFd> open_folder(const std::string& folder) {
  RealFiles files;
  MUSTER_RETURN_IF_ERROR(files.make_directories(folder));
  UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.is_open()) return os_error("open '" + folder + "'");
  return fd;
}

bool exists(int folder, const char* file) {
  struct stat found {};
  return fstatat(folder, file, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

// `text` ends where the last line does that is one of a journal; none = there is no such line.
struct Tail {
  size_t bytes = 0;
  uint64_t seq = 0;
};
std::optional<Tail> last_line(std::string_view text) {
  while (true) {
    const size_t end = text.rfind('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text = text.substr(0, end);
    const size_t before = text.rfind('\n');
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    if (const auto seq = seq_of_line(text.substr(begin))) return Tail{end + 1, *seq};
  }
}

// The end of a file, at most kTailBytes of it.
Result<std::string> read_tail(int fd, size_t size) {
  const size_t wanted = std::min(size, kTailBytes);
  std::string text(wanted, '\0');
  size_t got = 0;
  while (got < wanted) {
    const ssize_t count =
        pread(fd, text.data() + got, wanted - got, static_cast<off_t>(size - wanted + got));
    if (count < 0) return os_error("read");
    if (count == 0) break;
    got += static_cast<size_t>(count);
  }
  text.resize(got);
  return text;
}

}  // namespace

Error JournalFile::error(const char* call, const char* file) const {
  return os_error(std::string(call) + " '" + name_ + "/" + file + "'");
}

Result<std::unique_ptr<JournalFile>> JournalFile::create(const std::string& folder,
                                                         size_t max_bytes) {
  auto opened = open_folder(folder);
  if (!opened) return named(std::move(opened).error(), folder);
  std::unique_ptr<JournalFile> file(new JournalFile(std::move(*opened), folder, max_bytes));
  for (const auto step :
       {&JournalFile::complete_rotation, &JournalFile::open_file, &JournalFile::repair}) {
    if (Status done = (*file.*step)(); !done) return named(std::move(done).error(), folder);
  }
  return file;
}

// rotate() makes kNext first. While kCurrent and kOlder are both there, nothing has moved.
Status JournalFile::complete_rotation() {
  const int folder = folder_.get();
  if (!exists(folder, kNext)) return {};
  if (exists(folder, kCurrent) && exists(folder, kOlder)) {
    if (unlinkat(folder, kNext, 0) != 0) return error("unlink", kNext);
    return {};
  }
  if (exists(folder, kCurrent) && renameat(folder, kCurrent, folder, kOlder) != 0)
    return error("rename", kCurrent);
  if (renameat(folder, kNext, folder, kCurrent) != 0) return error("rename", kNext);
  return {};
}

Status JournalFile::open_file() {
  file_ = UniqueFd(openat(folder_.get(), kCurrent, O_RDWR | O_CLOEXEC | kAppend | kCareful, kMode));
  if (!file_.is_open()) return error("open", kCurrent);
  struct stat found {};
  if (fstat(file_.get(), &found) != 0) return error("stat", kCurrent);
  if (!S_ISREG(found.st_mode))
    return Error{Code::kConfig, 0, std::string(kCurrent) + " is no regular file"};
  size_ = static_cast<size_t>(found.st_size);
  return {};
}

Status JournalFile::repair() {
  auto text = read_tail(file_.get(), size_);
  if (!text) return std::move(text).error().with_context(kCurrent);
  const auto line = last_line(*text);
  // What an agent leaves that was killed at its first line is less than a line.
  if (!line && (size_ > kMaxJournalLineBytes || text->find('\n') != std::string::npos))
    return Error{Code::kConfig, 0, std::string(kCurrent) + " is no journal of muster"};
  cut_bytes_ = text->size() - (line ? line->bytes : 0);
  size_ -= cut_bytes_;
  if (cut_bytes_ > 0 && ftruncate(file_.get(), static_cast<off_t>(size_)) != 0)
    return error("truncate", kCurrent);
  if (line) {
    last_seq_ = line->seq;
    return {};
  }
  for (const char* older : {kOlder, kOldest}) {
    auto seq = last_seq_of(older);
    if (!seq) return std::move(seq).error();
    last_seq_ = *seq;
    if (last_seq_ > 0) return {};
  }
  return {};
}

// 0 = there is no such file, or no line in it.
Result<uint64_t> JournalFile::last_seq_of(const char* file) const {
  const UniqueFd fd(openat(folder_.get(), file, O_RDONLY | O_CLOEXEC | kCareful));
  if (!fd.is_open()) return errno == ENOENT ? Result<uint64_t>(0) : error("open", file);
  struct stat found {};
  if (fstat(fd.get(), &found) != 0) return error("stat", file);
  const auto text = read_tail(fd.get(), static_cast<size_t>(found.st_size));
  if (!text) return Error(text.error()).with_context(file);
  const auto line = last_line(*text);
  return line ? line->seq : 0;
}

Status JournalFile::append(std::string_view line) {
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written < 0) return error("write", kCurrent);
  if (static_cast<size_t>(written) < line.size()) {
    // Nobody shall read half of a line, and then the rest of another one.
    if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return error("truncate", kCurrent);
    errno = ENOSPC;  // a regular file takes less for no other reason that lasts
    return error("write", kCurrent);
  }
  size_ += line.size();
  ++last_seq_;
  return {};
}

bool JournalFile::was_changed() const {
  struct stat found {};
  return fstat(file_.get(), &found) != 0 || found.st_nlink == 0 ||
         static_cast<size_t>(found.st_size) < size_;
}

Result<JournalTally> JournalFile::oldest() const {
  JournalTally tally;
  const UniqueFd fd(openat(folder_.get(), kOldest, O_RDONLY | O_CLOEXEC | kCareful));
  if (!fd.is_open()) return errno == ENOENT ? Result<JournalTally>(tally) : error("open", kOldest);
  std::string text;
  std::string piece(kReadBytes, '\0');
  while (true) {
    const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
    if (count < 0) return error("read", kOldest);
    if (count == 0) break;
    text.append(piece, 0, static_cast<size_t>(count));
    size_t begin = 0;
    for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
      tally.add(std::string_view(text).substr(begin, end - begin));
      begin = end + 1;
    }
    text.erase(0, begin);
    if (text.size() > kMaxJournalLineBytes) text.clear();  // that is no line of ours
  }
  // The newest file tells what was thrown away before.
  text.resize(kMaxJournalLineBytes);
  const ssize_t count = pread(file_.get(), text.data(), text.size(), 0);
  if (count < 0) return error("read", kCurrent);
  text.resize(static_cast<size_t>(count));
  tally.add_told(std::string_view(text).substr(0, text.find('\n')));
  return tally;
}

// In this order, so that complete_rotation() knows from the names what was done.
Status JournalFile::rotate(std::string_view first) {
  const int folder = folder_.get();
  UniqueFd next(openat(folder, kNext, O_RDWR | O_CLOEXEC | O_TRUNC | kAppend | kCareful, kMode));
  if (!next.is_open()) return error("open", kNext);
  if (::write(next.get(), first.data(), first.size()) != static_cast<ssize_t>(first.size()))
    return error("write", kNext);
  if (renameat(folder, kOlder, folder, kOldest) != 0 && errno != ENOENT)
    return error("rename", kOlder);
  if (renameat(folder, kCurrent, folder, kOlder) != 0) return error("rename", kCurrent);
  if (renameat(folder, kNext, folder, kCurrent) != 0) return error("rename", kNext);
  file_ = std::move(next);
  size_ = first.size();
  if (!first.empty()) ++last_seq_;
  return {};
}

namespace {

// A sidecar that looks whether an agent lives (sidecar_files.h) shares the lock for a moment.
bool take_lock(int fd) {
  constexpr int kTries = 2000;  // a looker that is throttled may hold it for long
  for (int i = 0; i < kTries; ++i) {
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    // Another agent shares it with nobody.
    if (errno != EWOULDBLOCK || flock(fd, LOCK_SH | LOCK_NB) != 0) return false;
    (void)flock(fd, LOCK_UN);     // or two agents that begin would wait for each other
    (void)::poll(nullptr, 0, 1);  // a millisecond, at the start of the agent
  }
  errno = EWOULDBLOCK;
  return false;
}

}  // namespace

Result<UniqueFd> lock_journal(const std::string& folder) {
  auto opened = open_folder(folder);
  if (!opened) return named(std::move(opened).error(), folder);
  UniqueFd lock(openat(opened->get(), kLock, O_RDWR | O_CLOEXEC | O_CREAT | kCareful, kMode));
  if (!lock.is_open()) return named(os_error(std::string("open '") + kLock + "'"), folder);
  if (take_lock(lock.get())) return lock;
  if (errno == EWOULDBLOCK) {
    return Error{Code::kConfig, 0,
                 "--run-dir " + folder + ": another agent writes its journal there"};
  }
  return named(os_error(std::string("flock '") + kLock + "'"), folder);
}

}  // namespace muster::launcher
