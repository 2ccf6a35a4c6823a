// RoundPolicy: the job's budget of restarts, crash loops, and when a job may grow. Decides for the
// leader of a job of many nodes, and for the agent of a job of one node.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "elastic/restart_policy.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::elastic {

/// So often the same failure without progress ends the job.
inline constexpr int kCrashLoopFailures = 3;
/// What the reason of such an end begins with.
inline constexpr std::string_view kCrashLoop = "crash loop";
/// A worker that lived longer than this got somewhere, whether it says so or not: Kubernetes, too,
/// forgets the failures of a container that has run for ten minutes.
inline constexpr Duration kLoopPeriod = std::chrono::minutes(10);

struct RoundPolicyOptions {
  RestartOptions restarts;         ///< --max-restarts is the budget of the whole job
  std::optional<Duration> window;  ///< --restart-window: only restarts this recent count
  bool stop_crash_loops = true;    ///< off when called as torchrun
  Duration scale_up_interval = std::chrono::minutes(5);  ///< between two growths
  Duration scale_up_quiet = std::chrono::minutes(1);     ///< after any start of a round
  Duration replace_wait = std::chrono::seconds(30);
};

class RoundPolicy final : public rendezvous::RoundPolicy {
 public:
  /// `seed` of the jitter comes from the caller; the same seed gives the same delays.
  RoundPolicy(RoundPolicyOptions options, uint64_t seed);

  rendezvous::RestartVerdict after_failures(TimePoint now,
                                            std::span<const rendezvous::Failure> failures) override;
  rendezvous::RestartVerdict after_lone_failure(TimePoint now) override;
  [[nodiscard]] rendezvous::GrowVerdict may_grow(TimePoint now) const override;
  [[nodiscard]] TimePoint replace_until(TimePoint lost_at) const override;
  [[nodiscard]] int used(TimePoint now) const override;
  void round_started(TimePoint now, bool grew) override;
  /// Progress beyond what was ever reached gives the last charged restart back, unless that was one
  /// of a worker alone.
  void progressed(TimePoint now, int64_t step) override;
  [[nodiscard]] rendezvous::BudgetState budget(TimePoint now) const override;
  void restore(TimePoint now, const rendezvous::BudgetState& state) override;

 private:
  rendezvous::RestartVerdict charge(TimePoint now, bool would_fail_again);

  RoundPolicyOptions options_;
  uint64_t random_;
  int used_ = 0;
  int charged_ = 0;
  std::vector<TimePoint> restarts_;  // inside the window, newest first
  std::string last_failure_;
  int same_failures_ = 0;
  int64_t best_step_ = -1;
  bool refunded_ = true;  // nothing was charged since the last refund
  std::optional<TimePoint> grew_at_;
  std::optional<TimePoint> started_at_;
};

/// What makes two failures the same: class, end and the first line of the message, not rank or
/// time.
[[nodiscard]] std::string fingerprint(const rendezvous::Failure& failure);

}  // namespace muster::elastic
