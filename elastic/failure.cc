#include "elastic/failure.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/signals.h"
#include "base/text.h"
#include "elastic/last_words.h"

namespace muster::elastic {

namespace {

// What POSIX shells, and muster rank, exit with for a command that is not there, or is no program.
constexpr int kNoSuchCommand = 127;
constexpr int kNoProgram = 126;
// Of a shell's 128 + n: higher numbers are hardly ever meant like that, so they stay exit codes.
constexpr int kLastShellSignal = SIGTERM;

// The signal that ended the worker or, if it is a shell, the process it wrapped. 0 = none.
int effective_signal(const ExitStatus& status) {
  if (status.signal != 0) return status.signal;
  const int signal = status.code - kSignalExitBase;
  return signal > 0 && signal <= kLastShellSignal ? signal : 0;
}

bool is_crash(int signal) {
  switch (signal) {
    case SIGSEGV:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGABRT:
    case SIGTRAP:
    case SIGSYS:
      return true;
    default:
      return false;
  }
}

FailureClass class_of(const Observation& seen) {
  const int signal = effective_signal(seen.status);
  const bool by_agent =
      signal != 0 && (signal == seen.stop_signal || (signal == SIGKILL && seen.killed_by_agent));
  const bool asked_to_stop = seen.stop_signal != 0 || seen.killed_by_agent;
  if (seen.spawn_errno != 0) return FailureClass::kInfrastructure;
  if (by_agent) return FailureClass::kStopped;
  if (seen.status.success()) {
    return asked_to_stop ? FailureClass::kStopped : FailureClass::kSuccess;
  }
  // Typically a data loader was killed: its parent sees it and exits by itself.
  const bool killed = signal == SIGKILL || signal == 0;
  if (killed && seen.out_of_memory) return FailureClass::kOutOfMemory;
  if (is_crash(signal)) return FailureClass::kCrashed;
  if (signal != 0) return FailureClass::kKilled;
  if (!seen.shortage.empty()) return FailureClass::kInfrastructure;
  // What a shell says of its command is no rank's end.
  const bool not_run = seen.status.code == kNoSuchCommand || seen.status.code == kNoProgram;
  return seen.is_launcher && !not_run ? FailureClass::kLauncher : FailureClass::kUserError;
}

// "exit code 139 = 128 + SIGSEGV": the number alone tells few people anything.
std::string end_of(const ExitStatus& status) {
  if (status.signal != 0) return signal_name(status.signal);
  const int signal = effective_signal(status);
  if (signal == 0) return fmt::format("exit code {}", status.code);
  return fmt::format("exit code {} = 128 + {}", status.code, signal_name(signal));
}

std::string behind(std::string_view mark, const std::string& phrase) {
  return phrase.empty() ? "" : std::string(mark) + phrase;
}

std::string detail_of(FailureClass failure_class, const Observation& seen) {
  const int signal = effective_signal(seen.status);
  switch (failure_class) {
    case FailureClass::kSuccess:
    case FailureClass::kLauncher:
      return "";
    case FailureClass::kInfrastructure:
      return behind(": ", seen.shortage);
    case FailureClass::kStopped:
      return " by muster";
    case FailureClass::kOutOfMemory:
      if (signal == SIGKILL) return ": the kernel's OOM killer ended it";
      return behind(": ", seen.shortage);
    case FailureClass::kKilled:
      if (seen.passed_on != 0) return " by a signal that muster passed on";
      if (signal == SIGPIPE) return ": it wrote where nobody reads any more";
      return " from outside" + behind("; ", seen.shortage);
    case FailureClass::kUserError:
      if (seen.status.code == kNoSuchCommand) return ", a shell's: no such command";
      if (seen.status.code == kNoProgram) return ", a shell's: it cannot execute that";
      return "";
    case FailureClass::kCrashed:
      return (seen.status.core_dumped ? ", core dumped" : "") + behind("; ", seen.shortage);
  }
  MUSTER_CHECK(false);
}

// The latest moment at which the worker can have failed, on the agent's monotonic clock. A file
// tells it better than the reap (a failed worker may take minutes to end), but only to the second.
TimePoint failed_at(const FailureRecord& record) {
  if (!record.error_file || !record.error_file->written) return record.noticed;
  const WallTime written = *record.error_file->written;
  const WallTime second = std::chrono::floor<std::chrono::seconds>(written);
  const WallTime latest = written == second ? written + std::chrono::seconds(1) : written;
  const Duration before = record.noticed_wall - latest;
  const bool while_alive = before <= record.alive;  // else a stale file or a clock that jumped
  return while_alive && before > Duration::zero() ? record.noticed - before : record.noticed;
}

Blame blame_of(const FailureRecord& record) {
  const std::string lines = join(record.last_lines, "\n") + "\n" + record.reason;
  return elastic::blame_of(record.told_to_stop,
                           {record.error_file ? record.error_file->message : "", lines});
}

}  // namespace

std::string_view to_string(FailureClass failure_class) {
  switch (failure_class) {
    case FailureClass::kSuccess:
      return "success";
    case FailureClass::kStopped:
      return "stopped";
    case FailureClass::kUserError:
      return "user error";
    case FailureClass::kOutOfMemory:
      return "out of memory";
    case FailureClass::kKilled:
      return "killed";
    case FailureClass::kCrashed:
      return "crashed";
    case FailureClass::kLauncher:
      return "launcher";
    case FailureClass::kInfrastructure:
      return "infrastructure";
  }
  MUSTER_CHECK(false);
}

bool is_failure(FailureClass failure_class) {
  return failure_class != FailureClass::kSuccess && failure_class != FailureClass::kStopped;
}

Classified classify(const Observation& observation) {
  const FailureClass failure_class = class_of(observation);
  const std::string end = observation.spawn_errno != 0
                              ? "could not be started: " + errno_text(observation.spawn_errno)
                              : end_of(observation.status);
  if (failure_class == FailureClass::kLauncher) return {failure_class, end};
  return {failure_class, fmt::format("{} ({}{})", end, to_string(failure_class),
                                     detail_of(failure_class, observation))};
}

bool same_start_fails(int spawn_errno) {
  switch (spawn_errno) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOEXEC:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
    case E2BIG:
      return true;
    default:
      return false;
  }
}

std::optional<FailureRecord> raised_before_stop(const FailureRecord& record) {
  if (record.failure_class != FailureClass::kStopped || record.status.success()) return {};
  if (blame_of(record) != Blame::kOwnWhileEnding) return {};
  FailureRecord failure = record;
  failure.status = {.code = 1};
  failure.failure_class = FailureClass::kUserError;
  failure.reason = fmt::format("an exception, then {}", record.reason);
  return failure;
}

bool explains_stop(const FailureRecord& record) {
  return is_failure(record.failure_class) && blame_of(record) == Blame::kOwnWhileEnding;
}

const FailureRecord* first_failure(const std::vector<FailureRecord>& records) {
  std::vector<const FailureRecord*> failures;
  TimePoint earliest = TimePoint::max();
  for (const FailureRecord& record : records) {
    if (!is_failure(record.failure_class)) continue;
    failures.push_back(&record);
    earliest = std::min(earliest, failed_at(record));
  }
  const auto order = [earliest](const FailureRecord* record) {
    const TimePoint at = failed_at(*record);
    const bool same_moment = at - earliest <= kSameMoment;
    return std::tuple(!same_moment, same_moment ? blame_of(*record) : Blame::kOwn, at);
  };
  const auto first = std::min_element(
      failures.begin(), failures.end(),
      [&order](const auto* left, const auto* right) { return order(left) < order(right); });
  return first == failures.end() ? nullptr : *first;
}

}  // namespace muster::elastic
