#include "launcher/output/log_files.h"

#include <fcntl.h>
#include <sys/random.h>
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

std::string as_file_name(std::string_view run_id, std::string_view node) {
  const std::string tail = node.empty() ? "" : "_" + std::string(clip_utf8(node, kMaxNodeInPath));
  std::string name(clip_utf8(run_id, kMaxRunIdInPath - tail.size()));
  name += tail;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

LogFiles::LogFiles(Files& files, LogPlace place)
    : files_(files),
      place_(std::move(place)),
      root_dir_(place_.log_dir.value_or(place_.temp_dir + "/torchelastic_" + place_.suffix)) {
  attempt_dir_ = place_.attempt_dir;
  if (!attempt_dir_.empty())
    run_dir_ = attempt_dir_;
  else if (root_dir_ != kNullDevice)
    run_dir_ = root_dir_ + "/" + as_file_name(place_.run_id, place_.node) + "_" + place_.suffix;
}

Status LogFiles::make_run_dir() {
  if (run_dir_made_ || !are_enabled() || !place_.attempt_dir.empty()) return {};
  MUSTER_RETURN_IF_ERROR(files_.make_directories(root_dir_));
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
    remove_loose_files();
    loose_ = workers;
    MUSTER_RETURN_IF_ERROR(files_.check_writable_directory(place_.temp_dir));
    attempt_dir_ = place_.temp_dir + "/torchelastic_" + place_.suffix + "_" + name;
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

// One that cannot be removed lies in a temporary folder; there is nothing better to do about it.
void LogFiles::remove_loose_files() {
  for (const std::string& worker : loose_) (void)files_.remove_file(error_file(worker));
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
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return os_error("open '" + path + "'");
  const off_t size = lseek(fd.get(), 0, SEEK_END);
  if (size < 0) return os_error("lseek '" + path + "'");
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
