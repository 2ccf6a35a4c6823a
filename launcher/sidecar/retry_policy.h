// RetryPolicy: what an answer to a report means, and when the next try is. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace muster::launcher {

/// Between two tries, whatever the receiver asks for (`--retry-max`, Retry-After).
inline constexpr Duration kMaxRetryWait = std::chrono::seconds(60);
/// In the first minute of an outage, so that a short one is noticed to be over within 12 s.
inline constexpr Duration kShortRetryWait = std::chrono::seconds(10);

enum class Verdict {
  kTaken,       ///< it is the receiver's now
  kAgain,       ///< later, the same
  kAnew,        ///< later, over another connection, for which token and certificates are read again
  kLess,        ///< the body is too large, or something in it is refused: half of it
  kPlain,       ///< the receiver knows no gzip
  kDeadLetter,  ///< it will never be taken
};

/// Of a webhook's answer. `events`: in the body; `compressed`: by gzip.
[[nodiscard]] Verdict webhook_verdict(int status, size_t events, bool compressed);

/// The value of Retry-After: seconds, or a date of HTTP (RFC 9110, 10.2.3). None: neither. A date
/// that is over is zero.
[[nodiscard]] std::optional<Duration> parse_retry_after(std::string_view value, WallTime now);

/// The waits of one receiver.
class Backoff {
 public:
  /// `most`: at most kMaxRetryWait. `seed`: of the jitter.
  Backoff(Duration most, uint64_t seed) : most_(most), state_(seed) {}

  /// It has answered well. Returns how many tries had failed.
  int succeeded();
  /// A try has failed at `now`. The wait before the next one: at random up to a bound that doubles
  /// from 0.5 s to 10 s, and beyond to a sixth of the outage; but not less than `asked`.
  Duration failed(TimePoint now, std::optional<Duration> asked);
  [[nodiscard]] int failures() const { return failures_; }
  [[nodiscard]] TimePoint failing_since() const { return since_; }

 private:
  Duration most_;
  uint64_t state_;
  int failures_ = 0;
  TimePoint since_;  // meaningless if none has failed
};

}  // namespace muster::launcher
