// SaveTime: what the workers of a node have to save in, once some node was told to go, and the Stop
// that waits for it. Part of the inside of Member; included by member_core.h alone.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "rendezvous/messages/leader_messages.h"

namespace muster::rendezvous {

class SaveTime {
 public:
  /// They are told to save. `grace`: of the node that goes; half of it is to save, as in the
  /// leader. `own`: it is this node, whose time ends with it whatever was told of others. Else the
  /// longest counts that they were told.
  void begin(TimePoint now, Duration grace, bool own) {
    const TimePoint until = now + grace / 2;
    if (until_ && !own && until <= *until_) return;
    until_ = held_ ? std::min(until, *until_) : until;
    half_ = grace / 2;
  }
  /// They have ended, or there are none; what was held back is due.
  std::optional<Stop> end() {
    until_.reset();
    return std::exchange(held_, std::nullopt);
  }
  [[nodiscard]] bool runs(TimePoint now) const { return until_ && now < *until_; }
  [[nodiscard]] Duration left(TimePoint now) const { return *until_ - now; }  ///< if it runs
  [[nodiscard]] bool holds() const { return held_.has_value(); }
  void hold(Stop stop) { held_ = std::move(stop); }
  /// When the Stop that was held back is due; none = there is none.
  [[nodiscard]] std::optional<TimePoint> due() const { return held_ ? until_ : std::nullopt; }
  /// From SIGTERM to SIGKILL, if they are stopped now: never less than they still have to save in.
  [[nodiscard]] Duration stop_grace(TimePoint now, Duration most) const {
    return std::max(std::min(most, half_), until_ ? *until_ - now : Duration::zero());
  }

 private:
  std::optional<TimePoint> until_;
  Duration half_{};
  std::optional<Stop> held_;
};

}  // namespace muster::rendezvous
