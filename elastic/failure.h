// Why a worker ended, in a form that people and policies can use. Pure: the caller observes, this
// classifies and orders. The texts of whole reports are in launcher/report/failure_report.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/process.h"

namespace muster::elastic {

/// How a worker's end is to be taken (design: "Workers"). The first two are no failures.
enum class FailureClass {
  kSuccess,         ///< exited 0 by itself
  kStopped,         ///< stopped by the agent because of something else
  kUserError,       ///< exited non-zero by itself
  kOutOfMemory,     ///< the kernel's OOM killer hit it, or a process that it needed
  kKilled,          ///< ended by a signal that nobody here sent
  kCrashed,         ///< SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS
  kLauncher,        ///< it starts ranks, and its exit code says that something failed, not what
  kInfrastructure,  ///< could not be started, or met a limit of its container
};
/// Words for people and logs: "user error", "out of memory".
[[nodiscard]] std::string_view to_string(FailureClass failure_class);
[[nodiscard]] bool is_failure(FailureClass failure_class);

/// What torch's @record left in TORCHELASTIC_ERROR_FILE (reader: launcher/report/error_file.h).
struct ErrorFile {
  std::string path;
  std::string message;              ///< "ValueError: x"
  std::string traceback;            ///< "" when the file has none
  std::optional<WallTime> written;  ///< its own timestamp; torch writes whole seconds
  std::string problem;              ///< not empty: the file says nothing usable, and why
};

/// In place of a rank: something that starts ranks failed, the launcher of an MPI or its daemon.
inline constexpr int kNoRank = -1;

/// Everything known about one ended worker. Printed, ordered and sent by others.
struct FailureRecord {
  int rank = 0;  ///< or kNoRank
  int local_rank = 0;
  std::string node;  ///< host name
  pid_t pid = 0;     ///< for display only: already reaped; 0 = it was never started
  ExitStatus status;
  FailureClass failure_class = FailureClass::kUserError;
  std::string reason;     ///< from classify()
  TimePoint noticed;      ///< when the agent saw it, monotonic: orders the records of one node
  WallTime noticed_wall;  ///< the same moment for people
  Duration alive{};       ///< how long it ran
  int attempt = 0;
  bool told_to_stop = false;  ///< before it ended, so what it did then may be an answer to that
  bool presumed = false;  ///< nobody saw how it ended, only that it is gone: killed, most likely
  std::optional<ErrorFile> error_file;
  std::vector<std::string> last_lines;  ///< the end of its stderr (else stdout), bounded
  std::string logs;  ///< folder of its log files on `node`; "" = nobody asked for files
};

/// What the agent saw of one ended worker; input of classify().
struct Observation {
  ExitStatus status{};
  int stop_signal = 0;           ///< what we sent to stop it before it ended; 0 = nothing
  bool killed_by_agent = false;  ///< we had sent SIGKILL before it ended
  int spawn_errno = 0;           ///< not 0: it never ran, and `status` means nothing
  bool is_launcher = false;      ///< of ranks, such as mpirun
  int passed_on = 0;           ///< a signal that the agent got and passed on ended it; 0 = none did
  bool out_of_memory = false;  ///< the OOM killer ended a process of its container while it ran
  std::string shortage = {};   ///< what its container ran short of, a phrase; "" = nothing known
};

/// `reason` is a phrase that fits after "failed first:", with the class in it: "exit code 3 (user
/// error)", "SIGKILL (out of memory: the kernel's OOM killer ended it)", "SIGSEGV (crashed, core
/// dumped)", "SIGBUS (crashed; /dev/shm is full with 64 MiB)", "could not be started: No such file
/// or directory (infrastructure)"; of a launcher "exit code 1" alone.
struct Classified {
  FailureClass failure_class;
  std::string reason;
};

/// Total. A worker that we stopped is kStopped when it ended by a signal we sent or with success; a
/// different end is its own failure. An exit code of 129..143 counts as that signal plus 128: it is
/// how shells report the end of the process they wrap.
[[nodiscard]] Classified classify(const Observation& observation);

/// True when starting the same thing again gives the same error (ENOENT, EACCES, ENOEXEC, ...),
/// false for passing shortages (EAGAIN, ENOMEM).
[[nodiscard]] bool same_start_fails(int spawn_errno);

/// A worker that we stopped (kStopped) while it was ending because of an exception of its own: the
/// same record as that failure, exit code 1 as Python's. None: nothing says so. Such a record
/// counts only where another failure was the reason of the stop.
[[nodiscard]] std::optional<FailureRecord> raised_before_stop(const FailureRecord& record);

/// True for a failure of a worker that was told to stop, but had an exception of its own.
[[nodiscard]] bool explains_stop(const FailureRecord& record);

/// Failures that are not further apart happened in one moment: who ended first, who was noticed
/// first and whose report came first then differ by luck, most of all under load.
inline constexpr Duration kSameMoment = std::chrono::milliseconds(200);

/// The record that explains the others: the failure (is_failure()) that happened first, by the time
/// in its error file if it has one, else when it was noticed. Within kSameMoment of it the smallest
/// blame_of() goes first (elastic/last_words.h), then the earlier, then the one recorded first. A
/// time in a file counts as the end of its second, never later than the moment it was noticed, and
/// only when the worker was alive then. None when no record is a failure. The pointer is into
/// `records`, all of one node, in the order in which they were noticed.
[[nodiscard]] const FailureRecord* first_failure(const std::vector<FailureRecord>& records);

}  // namespace muster::elastic
