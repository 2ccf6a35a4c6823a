// Why a worker ended, in a form that people and policies can use. Pure: the caller observes, this
// classifies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process.h"

namespace muster::elastic {

/// Classes of failure, from design.md 5. `kStopped` is not a failure: the agent ended the worker
/// itself.
enum class FailureClass {
  kUserError,       ///< exited non-zero by itself
  kOutOfMemory,     ///< the kernel's OOM killer hit its memory cgroup
  kKilled,          ///< ended by a signal that nobody here sent
  kCrashed,         ///< SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT
  kInfrastructure,  ///< could not be started: not found, not executable, no processes left
  kPreempted,       ///< the pod was asked to leave
  kHang,            ///< stopped because it made no progress
  kStopped,         ///< stopped by the agent because of something else
};
[[nodiscard]] std::string_view to_string(FailureClass failure_class);

/// What torch's @record left in TORCHELASTIC_ERROR_FILE, if anything (reference: torchrun 6.3).
struct ErrorFile {
  std::string path;
  std::string message;              ///< "ValueError: x"
  std::string traceback;            ///< "" when the file has none
  std::optional<WallTime> written;  ///< its own timestamp
};

/// Everything known about one ended worker. Built by classify(); printed, ordered and sent by
/// others.
struct FailureRecord {
  int rank = 0;
  int local_rank = 0;
  std::string node;  ///< host name
  pid_t pid = 0;     ///< for display only: already reaped
  ExitStatus status;
  FailureClass failure_class = FailureClass::kUserError;
  TimePoint noticed;      ///< when the agent saw it, monotonic: orders the records of one node
  WallTime noticed_wall;  ///< the same moment for people
  Duration alive{};       ///< how long it ran
  int attempt = 0;
  std::optional<ErrorFile> error_file;
  std::vector<std::string> last_lines;  ///< the end of its stderr (else stdout), bounded
};

/// What the agent saw of one ended worker; input of classify().
struct Observation {
  ExitStatus status;
  bool stopped_by_agent = false;  ///< we had sent it a signal before it ended
  bool out_of_memory = false;     ///< its cgroup's oom_kill counter rose while it ran
  int spawn_errno = 0;            ///< not 0: it never ran
};

/// Class and one sentence ("SIGKILL: out of memory: the container's limit was reached"). A worker
/// that we stopped is kStopped only when it ended by the signal we sent or with success; a
/// different exit code is its own failure.
struct Classified {
  FailureClass failure_class;
  std::string reason;
};
[[nodiscard]] Classified classify(const Observation& observation);

/// The record that explains the others: the earliest that is not kStopped; its error file's time
/// counts when it has one. None when `records` is empty. The pointer is into `records`.
[[nodiscard]] const FailureRecord* first_failure(const std::vector<FailureRecord>& records);

}  // namespace muster::elastic
