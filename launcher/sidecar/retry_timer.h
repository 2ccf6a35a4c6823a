// RetryTimer: the next try of what a receiver did not take, and what is said of it: one line when
// it begins to fail, one when the reason changes, one when it is over.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/http.h"
#include "launcher/sidecar/http_caller.h"
#include "launcher/sidecar/retry_policy.h"

namespace muster::launcher {

inline constexpr std::string_view kEventWaiting = "sidecar.waiting";
inline constexpr std::string_view kEventResumed = "sidecar.resumed";

class RetryTimer {
 public:
  /// `target`: its name in the log. `most`: Backoff.
  RetryTimer(SidecarDoors doors, std::string target, Duration most);

  /// Calls `again` later. `problem`: why it must.
  void wait(const std::string& problem, std::optional<Duration> asked, std::function<void()> again);
  [[nodiscard]] bool is_waiting() const { return timer_.is_active(); }
  void succeeded();

 private:
  SidecarDoors doors_;
  std::string target_;
  Backoff backoff_;
  std::string told_;
  Timer timer_;
};

/// Why an answer was not taken: "429: slow down", or the error's text.
[[nodiscard]] std::string problem_of(const Result<HttpResponse>& answer);
/// Of its Retry-After.
[[nodiscard]] std::optional<Duration> asked_wait(const HttpResponse& answer, WallTime now);
/// The beginning of a body, for people.
[[nodiscard]] std::string first_words(const std::string& body);

}  // namespace muster::launcher
