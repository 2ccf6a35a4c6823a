#include "elastic/root_cause.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/text.h"

namespace muster::elastic {

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
  failure.last_lines = join(record.last_lines, "\n");
  failure.age_ms = to_ms(now - record.noticed);
  failure.alive_ms = to_ms(record.alive);
  failure.attempt = record.attempt;
  failure.would_fail_again = would_fail_again;
  failure.happened = record.noticed;
  return failure;
}

size_t first_of_job(std::span<const rendezvous::Failure> failures) {
  MUSTER_CHECK(!failures.empty());
  TimePoint earliest = failures.front().happened;
  for (const auto& failure : failures) earliest = std::min(earliest, failure.happened);
  const auto order = [earliest](const rendezvous::Failure& failure) {
    const bool same_moment = failure.happened - earliest <= kSameMoment;
    const bool plain_exit = failure.failure_class == to_string(FailureClass::kUserError);
    return std::tuple(!same_moment, same_moment && plain_exit,
                      same_moment ? TimePoint() : failure.happened, failure.rank);
  };
  size_t first = 0;
  for (size_t i = 1; i < failures.size(); ++i) {
    if (order(failures[i]) < order(failures[first])) first = i;
  }
  return first;
}

}  // namespace muster::elastic
