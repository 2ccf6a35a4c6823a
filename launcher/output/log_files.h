// LogFiles: where workers' output and error files lie, and one open log file. Paths and files only;
// which stream goes where is output.h's decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files.h"
#include "base/result.h"

namespace muster::launcher {

inline constexpr size_t kMaxRunIdInPath = 200;  ///< NAME_MAX is 255; the suffix needs 9
inline constexpr size_t kMaxNodeInPath = 63;    ///< a label of a host name

/// Where the files of one agent lie.
struct LogPlace {
  std::optional<std::string> log_dir;  ///< none = temporary; /dev/null = no files at all
  std::string temp_dir;                ///< of find_temporary_place()
  std::string run_id;                  ///< '/' in it becomes '_'
  /// random_suffix(), once per agent, so that agents may share a log_dir.
  std::string suffix;
  /// Nobody asked for logs: error files lie in a folder of the attempt, as
  /// torchelastic_<random>/attempt_<N>_<worker>_error.json. One folder, because the five of
  /// torchrun, made and removed again, were a third of the CPU time of a short job. Those of an
  /// attempt are removed when the next one begins: only what the report of the job's end names
  /// stays.
  bool error_files_only = false;
  /// Named into the run's folder; "" = as torchrun.
  std::string node = {};
  /// Of an agent, which has made it: only folders of workers are made there, in the one attempt.
  /// "" = all of the above.
  std::string attempt_dir = {};
};

/// The folders of one agent:
///   <log_dir>/<run_id>_<suffix>/attempt_<N>/<worker>/{stdout.log,stderr.log,error.json}
///   <log_dir>/<run_id>_<suffix>/attempt_<N>/{filtered_stdout.log,filtered_stderr.log}
/// With a node's name <run_id>_<node>_<suffix>. <worker>: its number, on its node or in the job.
/// Without a log_dir, below <temp_dir>/torchelastic_<random>, which is new and which only our user
/// can enter (mode 0700). No folder of logs is ever erased: an attempt number that comes again gets
/// attempt_<N>.1 and so on.
/// Source of the layout: torch.distributed.elastic 2.6 to 2.14 (DefaultLogsSpecs), which erases.
class LogFiles {
 public:
  /// Touches no disk. `files` is borrowed.
  LogFiles(Files& files, LogPlace place);
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;
  /// The folder of error files goes, unless there are some in it.
  ~LogFiles();

  /// False with the null device: no paths, and make_attempt() does nothing.
  [[nodiscard]] bool are_enabled() const;
  /// Makes <run_id>_<suffix>. kOs.
  Status make_run_dir();
  /// Makes the folders of an attempt, those above too when needed: one system call per folder. With
  /// `error_files_only` it makes one. kOs.
  Status make_attempt(int attempt, const std::vector<std::string>& workers);

  /// Paths in the attempt made last. The error file exists only if the worker writes it.
  [[nodiscard]] const std::string& attempt_dir() const { return attempt_dir_; }
  /// Of all attempts; "" = no files, or no log_dir and nothing made yet.
  [[nodiscard]] const std::string& run_dir() const { return run_dir_; }
  /// Of the worker's files; not with `error_files_only`.
  [[nodiscard]] std::string folder(std::string_view worker) const {
    return attempt_dir_ + "/" + std::string(worker);
  }
  [[nodiscard]] std::string error_file(std::string_view worker) const;
  [[nodiscard]] std::string stream_file(std::string_view worker, bool is_stderr) const;
  [[nodiscard]] std::string filtered_file(bool is_stderr) const;

 private:
  Status make_folders(const std::vector<std::string>& workers);
  [[nodiscard]] std::string run_name() const;
  Status make_error_folder();
  void remove_error_folder();

  Files& files_;
  LogPlace place_;
  std::string run_dir_;
  std::string attempt_dir_;           // with error_files_only: how the paths of its files begin
  std::string error_folder_;          // with error_files_only: of the attempt; "" = none
  std::vector<std::string> workers_;  // whose error files may be in it
  bool run_dir_made_ = false;
  int last_attempt_ = -1;
  int repeats_ = 0;  // how often last_attempt_ came again
};

/// Eight letters and digits from the kernel's random numbers. kOs.
Result<std::string> random_suffix();

/// The last `limit_bytes` of a regular file. kOs.
Result<std::string> read_end(const std::string& path, size_t limit_bytes);

/// A log file open for appending. A full disk does not stop the job: what could not be written is
/// counted, later writes are tried again.
class LogFile {
 public:
  /// `fd` was opened for appending; `path` is for messages.
  LogFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  /// All of `bytes`, at once (a regular file: waits for the disk at most). The first failure is
  /// logged.
  void write(std::string_view bytes);
  /// Logs how much was lost, if anything was. For the end of the file.
  void report_lost() const;

 private:
  UniqueFd fd_;
  std::string path_;
  uint64_t lost_bytes_ = 0;
};

}  // namespace muster::launcher
