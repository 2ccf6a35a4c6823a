#include "launcher/output/log_files.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kNullDevice = "/dev/null";
constexpr std::string_view kOwnFolder = "/torchelastic_";  // torchrun's, made as torchrun makes it

std::string as_file_name(std::string_view run_id, std::string_view node) {
  const std::string tail = node.empty() ? "" : "_" + std::string(clip_utf8(node, kMaxNodeInPath));
  std::string name(clip_utf8(run_id, kMaxRunIdInPath - tail.size()));
  name += tail;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

LogFiles::LogFiles(Files& files, LogPlace place) : files_(files), place_(std::move(place)) {
  attempt_dir_ = place_.attempt_dir;
  if (!attempt_dir_.empty())
    run_dir_ = attempt_dir_;
  else if (place_.log_dir && are_enabled())
    run_dir_ = *place_.log_dir + "/" + run_name();
}

LogFiles::~LogFiles() {
  // What the report of the job's end names is still there, and keeps its folder.
  if (!error_folder_.empty()) (void)files_.remove_folder(error_folder_);
}

bool LogFiles::are_enabled() const {
  return !place_.attempt_dir.empty() || place_.log_dir != kNullDevice;
}

std::string LogFiles::run_name() const {
  return as_file_name(place_.run_id, place_.node) + "_" + place_.suffix;
}

// A folder that somebody named has the modes that their umask gives it: people share logs.
Status LogFiles::make_run_dir() {
  if (run_dir_made_ || !are_enabled() || !place_.attempt_dir.empty()) return {};
  if (place_.log_dir) {
    MUSTER_RETURN_IF_ERROR(files_.make_directories(*place_.log_dir));
  } else {
    auto root = files_.make_private_folder(place_.temp_dir + std::string(kOwnFolder));
    if (!root) return std::move(root).error();
    run_dir_ = *root + "/" + run_name();
  }
  MUSTER_RETURN_IF_ERROR(files_.make_directories(run_dir_));
  run_dir_made_ = true;
  return {};
}

Status LogFiles::make_attempt(int attempt, const std::vector<std::string>& workers) {
  if (!are_enabled()) return {};
  if (!place_.attempt_dir.empty()) return make_folders(workers);
  repeats_ = attempt == last_attempt_ ? repeats_ + 1 : 0;
  last_attempt_ = attempt;
  std::string name = "attempt_" + std::to_string(attempt);
  if (repeats_ > 0) name += '.' + std::to_string(repeats_);
  if (place_.error_files_only) {
    remove_error_folder();
    MUSTER_RETURN_IF_ERROR(make_error_folder());
    workers_ = workers;
    attempt_dir_ = error_folder_ + "/" + name;
    return {};
  }
  MUSTER_RETURN_IF_ERROR(make_run_dir());
  attempt_dir_ = run_dir_ + "/" + name;
  MUSTER_RETURN_IF_ERROR(files_.make_directories(attempt_dir_));
  return make_folders(workers);
}

Status LogFiles::make_folders(const std::vector<std::string>& workers) {
  for (const std::string& worker : workers)
    MUSTER_RETURN_IF_ERROR(files_.make_directories(attempt_dir_ + "/" + worker));
  return {};
}

// A new one for each attempt: whoever saw the name of the last one knows nothing of the next, and
// cannot lay a link there.
Status LogFiles::make_error_folder() {
  auto made = files_.make_private_folder(place_.temp_dir + std::string(kOwnFolder));
  if (!made) return std::move(made).error();
  error_folder_ = std::move(*made);
  return {};
}

// What cannot be removed lies in a temporary folder; there is nothing better to do about it.
void LogFiles::remove_error_folder() {
  if (error_folder_.empty()) return;
  for (const std::string& worker : workers_) (void)files_.remove_file(error_file(worker));
  (void)files_.remove_folder(std::exchange(error_folder_, {}));
}

std::string LogFiles::error_file(std::string_view worker) const {
  if (!place_.error_files_only) return folder(worker) + "/error.json";
  return attempt_dir_ + "_" + std::string(worker) + "_error.json";
}

std::string LogFiles::stream_file(std::string_view worker, bool is_stderr) const {
  return folder(worker) + (is_stderr ? "/stderr.log" : "/stdout.log");
}

std::string LogFiles::filtered_file(bool is_stderr) const {
  return attempt_dir_ + (is_stderr ? "/filtered_stderr.log" : "/filtered_stdout.log");
}

Result<std::string> random_suffix() {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz012345";  // 32: no bias
  std::array<unsigned char, 8> bytes{};
  // Up to 256 bytes are never cut short (getrandom(2)); it may wait in the first second of a boot.
  if (getrandom(bytes.data(), bytes.size(), 0) < 0) return os_error("getrandom");
  std::string suffix;
  for (const unsigned char byte : bytes) suffix += kAlphabet[byte % kAlphabet.size()];
  return suffix;
}

Result<std::string> read_end(const std::string& path, size_t limit_bytes) {
  // Its worker may have put something else there.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  if (!fd.is_open()) return os_error("open '" + path + "'");
  struct stat file {};
  if (fstat(fd.get(), &file) != 0) return os_error("fstat '" + path + "'");
  if (!S_ISREG(file.st_mode)) return os_error("open '" + path + "'", EINVAL);
  const off_t size = file.st_size;
  std::string end(std::min(limit_bytes, static_cast<size_t>(size)), '\0');
  const ssize_t got =
      pread(fd.get(), end.data(), end.size(), size - static_cast<off_t>(end.size()));
  if (got < 0) return os_error("pread '" + path + "'");
  end.resize(static_cast<size_t>(got));
  return end;
}

void LogFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (bytes.empty()) return;
  if (lost_bytes_ == 0) {
    log::warning("output.file_failed", {{"path", path_},
                                        {"error", errno_text(errno)},
                                        {"action", "counting what is lost, trying again"}});
  }
  lost_bytes_ += bytes.size();
}

void LogFile::report_lost() const {
  if (lost_bytes_ == 0) return;
  log::warning("output.file_lost", {{"path", path_}, {"lost_bytes", lost_bytes_}});
}

}  // namespace muster::launcher
