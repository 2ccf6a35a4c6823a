#include "launcher/sidecar/retry_timer.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr size_t kShownBytes = 200;

// Of no secret, and other in each process that begins at another moment.
uint64_t seed_of(const Clock& clock, const std::string& target) {
  return static_cast<uint64_t>(clock.wall_now().time_since_epoch().count()) ^
         std::hash<std::string>()(target);
}

}  // namespace

RetryTimer::RetryTimer(SidecarDoors doors, std::string target, Duration most)
    : doors_(doors), target_(std::move(target)), backoff_(most, seed_of(doors.clock, target_)) {}

void RetryTimer::wait(const std::string& problem, std::optional<Duration> asked,
                      std::function<void()> again) {
  const Duration wait = backoff_.failed(doors_.loop.now(), asked);
  if (std::exchange(told_, problem) != problem) {
    log::warning(kEventWaiting, {{"target", target_},
                                 {"error", problem},
                                 {"action", "trying again; events wait in the journal"}});
  }
  timer_ = doors_.loop.after(wait, std::move(again));
}

void RetryTimer::succeeded() {
  const Duration outage = doors_.loop.now() - backoff_.failing_since();
  const int failures = backoff_.succeeded();
  told_.clear();
  if (failures == 0) return;
  log::info(kEventResumed, {{"target", target_}, {"tries", failures}, {"after_s", outage}});
}

std::string problem_of(const Result<HttpResponse>& answer) {
  if (!answer) return one_line(answer.error().text);
  const std::string words = first_words(answer->body);
  return "answer " + std::to_string(answer->status) + (words.empty() ? "" : ": " + words);
}

std::optional<Duration> asked_wait(const HttpResponse& answer, WallTime now) {
  return parse_retry_after(header_of(answer.headers, "Retry-After"), now);
}

std::string first_words(const std::string& body) {
  return one_line(clip_utf8(trim(body), kShownBytes));
}

}  // namespace muster::launcher
