#include "launcher/log_files.h"

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

std::string as_file_name(std::string_view run_id) {
  std::string name(clip_utf8(run_id, kMaxRunIdInPath));
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

}  // namespace

LogFiles::LogFiles(Files& files, const std::optional<std::string>& log_dir,
                   const std::string& temp_dir, std::string_view run_id, const std::string& suffix)
    : files_(files),
      root_dir_(log_dir.value_or(temp_dir + "/torchelastic_" + suffix)),
      is_temporary_(!log_dir) {
  if (root_dir_ != kNullDevice) run_dir_ = root_dir_ + "/" + as_file_name(run_id) + "_" + suffix;
}

Status LogFiles::make_run_dir() {
  if (run_dir_made_ || !are_enabled()) return {};
  MUSTER_RETURN_IF_ERROR(files_.make_directories(root_dir_));
  MUSTER_RETURN_IF_ERROR(files_.make_directories(run_dir_));
  run_dir_made_ = true;
  return {};
}

Status LogFiles::make_attempt(int attempt, const std::vector<int>& local_ranks) {
  if (!are_enabled()) return {};
  MUSTER_RETURN_IF_ERROR(make_run_dir());
  repeats_ = attempt == last_attempt_ ? repeats_ + 1 : 0;
  last_attempt_ = attempt;
  attempt_dir_ = run_dir_ + "/attempt_" + std::to_string(attempt);
  if (repeats_ > 0) attempt_dir_ += '.' + std::to_string(repeats_);
  MUSTER_RETURN_IF_ERROR(files_.make_directories(attempt_dir_));
  local_ranks_ = local_ranks;
  for (const int local_rank : local_ranks) {
    MUSTER_RETURN_IF_ERROR(
        files_.make_directories(attempt_dir_ + "/" + std::to_string(local_rank)));
  }
  return {};
}

void LogFiles::remove_unused() {
  if (!is_temporary_ || !run_dir_made_) return;
  // A folder with something in it stays, and so do those above: every error here means just that.
  for (const int local_rank : std::exchange(local_ranks_, {})) {
    (void)files_.remove_directory(attempt_dir_ + "/" + std::to_string(local_rank));
  }
  for (const std::string& folder : {attempt_dir_, run_dir_, root_dir_}) {
    if (!files_.remove_directory(folder)) return;
    run_dir_made_ = false;
  }
}

std::string LogFiles::error_file(int local_rank) const {
  return attempt_dir_ + "/" + std::to_string(local_rank) + "/error.json";
}

std::string LogFiles::stream_file(int local_rank, bool is_stderr) const {
  return attempt_dir_ + "/" + std::to_string(local_rank) +
         (is_stderr ? "/stderr.log" : "/stdout.log");
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
