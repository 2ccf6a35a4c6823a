// FakeRoundPolicy: a policy with answers set by the test: so many restarts after such a pause,
// growth from a certain time on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rendezvous/messages/round_policy.h"

namespace muster::testing {

class FakeRoundPolicy : public rendezvous::RoundPolicy {
 public:
  rendezvous::RestartVerdict after_failures(
      TimePoint /*now*/, std::span<const rendezvous::Failure> failures) override {
    judged = failures.size();
    return charge();
  }
  rendezvous::RestartVerdict after_lone_failure(TimePoint /*now*/) override { return charge(); }
  rendezvous::RestartVerdict charge() {
    if (state.restarts_used >= max_restarts) return {false, {}, 0, "budget used up"};
    ++state.restarts_used;
    ++state.restarts_charged;
    return {true, delay, 0, "restart"};
  }
  rendezvous::GrowVerdict may_grow(TimePoint now) const override {
    return {now >= grow_at, grow_at, "growth"};
  }
  TimePoint replace_until(TimePoint lost_at) const override {
    return lost_at + std::chrono::seconds(20);
  }
  int used(TimePoint /*now*/) const override { return state.restarts_used; }
  void round_started(TimePoint /*now*/, bool /*grew*/) override {}
  void progressed(TimePoint /*now*/, int64_t step) override { steps.push_back(step); }
  rendezvous::BudgetState budget(TimePoint /*now*/) const override { return state; }
  void restore(TimePoint /*now*/, const rendezvous::BudgetState& other) override {
    if (other.restarts_charged > state.restarts_charged) state = other;
  }

  int max_restarts = 1;
  Duration delay{};
  TimePoint grow_at = TimePoint::max();
  rendezvous::BudgetState state;
  size_t judged = 0;
  std::vector<int64_t> steps;  ///< that it heard of
};

}  // namespace muster::testing
