#include "elastic/round_policy.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/random.h"
#include "base/text.h"
#include "elastic/root_cause.h"

namespace muster::elastic {

namespace {

using rendezvous::BudgetState;
using rendezvous::Failure;
using rendezvous::GrowVerdict;
using rendezvous::RestartVerdict;
using std::chrono::milliseconds;

constexpr size_t kFingerprintBytes = 200;

}  // namespace

std::string fingerprint(const Failure& failure) {
  const std::string_view line = split(failure.message, '\n').front();
  return fmt::format("{} {} {} {}", failure.failure_class, failure.exit_code, failure.signal,
                     clip_utf8(line, kFingerprintBytes));
}

RoundPolicy::RoundPolicy(RoundPolicyOptions options, uint64_t seed)
    : options_(options), random_(seed) {}

int RoundPolicy::used(TimePoint now) const {
  if (!options_.window) return used_;
  return static_cast<int>(std::count_if(restarts_.begin(), restarts_.end(),
                                        [&](TimePoint at) { return now - at < *options_.window; }));
}

RestartVerdict RoundPolicy::after_failures(TimePoint now, std::span<const Failure> failures) {
  const size_t first_at = first_of_job(failures);
  const Failure& first = failures[first_at];
  const std::string print = fingerprint(first);
  const bool again = print == last_failure_ && milliseconds(first.alive_ms) < kLoopPeriod;
  same_failures_ = again ? same_failures_ + 1 : 1;
  last_failure_ = print;
  RestartVerdict verdict;
  if (options_.stop_crash_loops && same_failures_ >= kCrashLoopFailures) {
    verdict.reason =
        fmt::format("{}: the same failure {} times without progress", kCrashLoop, same_failures_);
  } else {
    verdict = charge(now, first.would_fail_again);
  }
  verdict.first = first_at;
  return verdict;
}

RestartVerdict RoundPolicy::after_lone_failure(TimePoint now) {
  RestartVerdict verdict = charge(now, false);
  // That others get further says nothing of the worker that fails.
  refunded_ = true;
  return verdict;
}

RestartVerdict RoundPolicy::charge(TimePoint now, bool would_fail_again) {
  const RestartDecision decision =
      decide_restart({used(now), would_fail_again}, options_.restarts, next_fraction(random_));
  RestartVerdict verdict{
      .restart = decision.restart, .delay = decision.delay, .first = 0, .reason = decision.reason};
  if (!decision.restart) return verdict;
  ++used_;
  ++charged_;
  refunded_ = false;
  if (options_.window) {
    restarts_.insert(restarts_.begin(), now);
    restarts_.resize(std::min(restarts_.size(), rendezvous::kMaxRestartAges));
    verdict.reason += " (window " + format_duration(*options_.window) + ")";
  }
  return verdict;
}

GrowVerdict RoundPolicy::may_grow(TimePoint now) const {
  TimePoint at = now;
  std::string_view why = "now";
  if (started_at_ && *started_at_ + options_.scale_up_quiet > at) {
    at = *started_at_ + options_.scale_up_quiet;
    why = "--scale-up-quiet";
  }
  if (grew_at_ && *grew_at_ + options_.scale_up_interval > at) {
    at = *grew_at_ + options_.scale_up_interval;
    why = "--scale-up-interval";
  }
  if (at <= now) return {true, at, std::string(why)};
  return {false, at, fmt::format("{} for {} more", why, format_duration(at - now))};
}

TimePoint RoundPolicy::replace_until(TimePoint lost_at) const {
  return lost_at + options_.replace_wait;
}

void RoundPolicy::round_started(TimePoint now, bool grew) {
  started_at_ = now;
  if (grew || !grew_at_) grew_at_ = now;
}

void RoundPolicy::progressed(TimePoint /*now*/, int64_t step) {
  if (step <= best_step_) return;
  best_step_ = step;
  same_failures_ = 0;
  last_failure_.clear();
  if (refunded_ || used_ == 0) return;
  --used_;
  if (!restarts_.empty()) restarts_.erase(restarts_.begin());
  refunded_ = true;
}

BudgetState RoundPolicy::budget(TimePoint now) const {
  BudgetState state{.restarts_used = used_,
                    .restarts_charged = charged_,
                    .restart_ages_ms = {},
                    .last_failure = last_failure_,
                    .same_failures = same_failures_,
                    .best_step = best_step_,
                    .given_back = refunded_ && charged_ > 0};
  for (const TimePoint at : restarts_) {
    const auto age = std::chrono::duration_cast<milliseconds>(now - at).count();
    state.restart_ages_ms.push_back(std::max<int64_t>(age, 0));
  }
  return state;
}

void RoundPolicy::restore(TimePoint now, const BudgetState& state) {
  best_step_ = std::max(best_step_, state.best_step);
  if (state.restarts_charged == charged_) {
    // Another copy of the same restarts: each may know them too young, none too old.
    const size_t both = std::min(restarts_.size(), state.restart_ages_ms.size());
    for (size_t i = 0; i < both; ++i)
      restarts_[i] =
          std::min<TimePoint>(restarts_[i], now - milliseconds(state.restart_ages_ms[i]));
  }
  if (state.restarts_charged <= charged_) return;
  charged_ = state.restarts_charged;
  used_ = state.restarts_used;
  last_failure_ = state.last_failure;
  same_failures_ = state.same_failures;
  refunded_ = state.given_back;
  restarts_.clear();
  for (const int64_t age : state.restart_ages_ms) restarts_.push_back(now - milliseconds(age));
}

}  // namespace muster::elastic
