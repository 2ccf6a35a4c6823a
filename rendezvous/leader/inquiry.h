// Inquiry: what a leader has asked of those who may lead and are not with it: for a round, which
// waits for the answer, or in a look for others while nodes are missing. Part of the inside of
// Leader. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace muster::rendezvous {

class Inquiry {
 public:
  /// A new question's number; answers to earlier ones do not count any more.
  uint64_t begin() { return ++number_; }
  [[nodiscard]] bool is_current(uint64_t number) const { return number == number_; }

  /// All have answered as a round needs it.
  void answered(TimePoint now) {
    ask_at_.reset();
    answered_at_ = now;
  }
  [[nodiscard]] bool is_answered(TimePoint now, Duration lifetime) const {
    return answered_at_ && now < *answered_at_ + lifetime;
  }

  /// A round waits for the answer; it is asked for once more at `next`.
  void await(TimePoint next) { ask_at_ = next; }
  void forget_round() { ask_at_.reset(); }
  /// When it is to be asked again; none = no round waits.
  [[nodiscard]] std::optional<TimePoint> ask_at() const { return ask_at_; }

  /// When to look for others, by a leader that began then: not while a round waits.
  [[nodiscard]] TimePoint next_look(TimePoint began, Duration period) const {
    return std::max(ask_at_.value_or(began), std::max(began, looked_at_) + period);
  }
  void look(TimePoint now) {
    ask_at_.reset();  // that answer was lost
    looked_at_ = now;
  }

 private:
  uint64_t number_ = 0;
  std::optional<TimePoint> ask_at_;
  std::optional<TimePoint> answered_at_;
  TimePoint looked_at_;
};

}  // namespace muster::rendezvous
