// NodeHealth: what health checks said of a node. One that was not fit stays out of rounds for a
// time, which doubles with each check that it fails after that. Pure; for the leader's sources
// alone: another leader begins with none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "rendezvous/messages/health_checks.h"

namespace muster::rendezvous {

class NodeHealth {
 public:
  /// It was found unfit in that round. `cooldown`: how long it stays out the first time. False: it
  /// was told already.
  bool found_unfit(TimePoint now, uint64_t round, Duration cooldown, std::string why) {
    if (round == round_) return false;
    round_ = round;
    cooldown_ = failures_++ == 0 ? cooldown : std::min(2 * cooldown_, kMaxCooldown);
    until_ = now + cooldown_;
    why_ = std::move(why);
    return true;
  }
  /// Its workers ran with those of all others.
  void found_fit() { *this = {}; }

  /// Its last check failed: no round is stopped for it to take part.
  [[nodiscard]] bool is_doubtful() const { return failures_ > 0; }
  [[nodiscard]] bool is_out(TimePoint now) const { return is_doubtful() && now < until_; }
  [[nodiscard]] Duration cooldown() const { return cooldown_; }
  [[nodiscard]] TimePoint until() const { return until_; }
  [[nodiscard]] const std::string& why() const { return why_; }

 private:
  uint64_t round_ = 0;
  int failures_ = 0;  // one after the other
  Duration cooldown_{};
  TimePoint until_;
  std::string why_;
};

}  // namespace muster::rendezvous
