#include "elastic/root_cause.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/text.h"
#include "elastic/last_words.h"

namespace muster::elastic {

namespace {

// A word that this version does not know counts as the most general failure.
FailureClass class_of(std::string_view word) {
  using enum FailureClass;
  for (const auto known : {kSuccess, kStopped, kUserError, kOutOfMemory, kKilled, kCrashed,
                           kLauncher, kInfrastructure}) {
    if (word == to_string(known)) return known;
  }
  return kUserError;
}

// The last of these lines that fit, joined: an exception stands at the end. Of a line that is too
// long by itself its beginning.
std::string end_of(const std::vector<std::string>& lines, size_t limit_bytes) {
  const auto fitting = last_lines(lines, limit_bytes + 1);
  if (fitting.empty() && !lines.empty()) return std::string(clip_utf8(lines.back(), limit_bytes));
  return join(fitting, "\n");
}

// The order in which ends of one moment explain each other, where their words do not tell.
enum Certainty { kOwnCause, kPresumed, kPlainExit };

Certainty certainty_of(const rendezvous::Failure& failure) {
  for (const auto plain : {FailureClass::kUserError, FailureClass::kLauncher})
    if (failure.failure_class == to_string(plain)) return kPlainExit;
  return failure.presumed ? kPresumed : kOwnCause;
}

}  // namespace

rendezvous::Failure to_wire(const FailureRecord& record, TimePoint now, bool would_fail_again) {
  using std::chrono::milliseconds;
  const auto to_ms = [](Duration duration) {
    return std::max<int64_t>(std::chrono::duration_cast<milliseconds>(duration).count(), 0);
  };
  rendezvous::Failure failure;
  failure.rank = record.rank;
  failure.local_rank = record.local_rank;
  failure.node = record.node;
  failure.pid = record.pid;
  failure.exit_code = record.status.code;
  failure.signal = record.status.signal;
  failure.failure_class = to_string(record.failure_class);
  failure.reason = record.reason;
  if (record.error_file) failure.message = record.error_file->message;
  failure.last_lines = end_of(record.last_lines, rendezvous::kMaxTextBytes);
  failure.logs = record.logs;
  failure.age_ms = to_ms(now - record.noticed);
  failure.alive_ms = to_ms(record.alive);
  failure.attempt = record.attempt;
  failure.would_fail_again = would_fail_again;
  failure.told_to_stop = record.told_to_stop;
  failure.presumed = record.presumed;
  failure.happened = record.noticed;
  return failure;
}

FailureRecord from_wire(const rendezvous::Failure& failure, TimePoint now, WallTime wall_now) {
  const std::chrono::milliseconds age(failure.age_ms);
  FailureRecord record;
  record.rank = failure.rank;
  record.local_rank = failure.local_rank;
  record.node = failure.node;
  record.pid = static_cast<pid_t>(failure.pid);
  record.status = {.code = failure.exit_code, .signal = failure.signal};
  record.failure_class = class_of(failure.failure_class);
  record.reason = failure.reason;
  record.noticed = now - age;
  record.noticed_wall = wall_now - age;
  record.alive = std::chrono::milliseconds(failure.alive_ms);
  record.attempt = failure.attempt;
  record.logs = failure.logs;
  record.told_to_stop = failure.told_to_stop;
  record.presumed = failure.presumed;
  if (!failure.message.empty()) {
    record.error_file.emplace();
    record.error_file->message = failure.message;
  }
  if (failure.last_lines.empty()) return record;
  for (const std::string_view line : split(failure.last_lines, '\n'))
    record.last_lines.emplace_back(line);
  return record;
}

size_t first_of_job(std::span<const rendezvous::Failure> failures) {
  MUSTER_CHECK(!failures.empty());
  TimePoint earliest = failures.front().happened;
  for (const auto& failure : failures) earliest = std::min(earliest, failure.happened);
  const auto order = [earliest](const rendezvous::Failure& failure) {
    const bool same_moment = failure.happened - earliest <= kSameMoment;
    const Blame blame =
        same_moment ? blame_of(failure.told_to_stop,
                               {failure.message, failure.last_lines + "\n" + failure.reason})
                    : Blame::kOwn;
    const Certainty certainty = same_moment ? certainty_of(failure) : kOwnCause;
    return std::tuple(!same_moment, blame, certainty, failure.happened);
  };
  size_t first = 0;
  auto smallest = order(failures.front());
  for (size_t i = 1; i < failures.size(); ++i) {
    const auto next = order(failures[i]);
    if (next >= smallest) continue;
    smallest = next;
    first = i;
  }
  return first;
}

}  // namespace muster::elastic
