// LivedRounds: the job's budget as its workers lived through it. No leader is asked what it
// counted: a round that follows one in which a worker failed, while nothing else went wrong, is a
// restart that was charged, and so is a worker that started again alone in such a round.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "rendezvous/agreement/electorate.h"

namespace muster::simulation {

/// A round that ran on all its nodes.
struct RanRound {
  rendezvous::RoundKey key{};
  int restarts = 0;               ///< that it has behind it
  int unfit = 0;                  ///< health checks that had failed by then
  std::map<uint64_t, int> ranks;  ///< by incarnation
};

/// When the failures were that led to charged restarts. A restart is charged no earlier than its
/// failure.
struct Charges {
  std::vector<TimePoint> all;
  std::vector<TimePoint> kept;  ///< those that progress did not give back, if it gives what it may
  bool given_back = false;      ///< the last one

  void charge(TimePoint failed) {
    all.push_back(failed);
    kept.push_back(failed);
    given_back = false;
  }
  /// A leader that heard of it, and knew of no step beyond, gave the last one back: which.
  std::optional<TimePoint> progressed() {
    std::optional<TimePoint> back;
    if (!given_back && !kept.empty()) {
      back = kept.back();
      kept.pop_back();
    }
    given_back = true;
    return back;
  }
};

struct LivedRound {
  TimePoint began;
  Charges charges;                  ///< of all that led to this round
  int64_t checkpoint = 0;           ///< the step that it goes on from
  std::optional<TimePoint> failed;  ///< when one of its workers failed first
  std::vector<TimePoint> alone{};   ///< when those failed that started again alone
  std::set<uint64_t> go{};          ///< nodes that were told to go, or whose workers succeeded
};

/// How many of `times` are less than `window` ago; none = all.
[[nodiscard]] inline int counted_in(std::optional<Duration> window, TimePoint now,
                                    const std::vector<TimePoint>& times) {
  return static_cast<int>(
      std::ranges::count_if(times, [&](TimePoint at) { return !window || now - at < *window; }));
}

/// What the nodes are told to be as many as.
struct Target {
  std::optional<int> nodes;
  TimePoint known;  ///< to all of them, since
};

class LivedRounds {
 public:
  /// Till then a round may end for other reasons than a failure.
  void trouble(TimePoint until) { trouble_until_ = std::max(trouble_until_, until); }
  [[nodiscard]] TimePoint trouble_until() const { return trouble_until_; }
  /// Charged restarts that lie behind who was in `former` (null = in none) and starts anew.
  [[nodiscard]] Charges charged_after(const std::shared_ptr<LivedRound>& former) const {
    if (!former) return {};
    Charges charged = former->charges;
    if (trouble_until_ <= former->began) {
      for (const TimePoint failed : former->alone) charged.charge(failed);
      if (former->failed) charged.charge(*former->failed);
    }
    std::erase_if(charged.kept, [this](TimePoint at) { return given_back_.contains(at); });
    return charged;
  }
  /// Somebody with so many behind it starts in that round. Shared with the nodes, because a job
  /// that nobody remembers uses the same numbers again.
  std::shared_ptr<LivedRound> start(TimePoint now, rendezvous::RoundKey key, Charges charged) {
    std::shared_ptr<LivedRound>& round = rounds_[key];
    if (!round)
      round = std::make_shared<LivedRound>(LivedRound{now, {}, furthest_ - furthest_ % 4, {}});
    Charges& known = round->charges;
    const bool fewer =
        charged.all.size() == known.all.size() && charged.kept.size() < known.kept.size();
    if (charged.all.size() > known.all.size() || fewer) known = std::move(charged);
    return round;
  }
  /// Its workers made that step.
  void step(LivedRound& round, int64_t step) {
    furthest_ = std::max(furthest_, step);
    if (const auto back = round.charges.progressed()) given_back_.insert(*back);
  }
  /// A job begins that knows nothing of these rounds.
  void forget() { rounds_.clear(); }

 private:
  std::map<rendezvous::RoundKey, std::shared_ptr<LivedRound>> rounds_;
  TimePoint trouble_until_{};
  std::set<TimePoint> given_back_;  // also those of who was a spare then
  int64_t furthest_ = 0;
};

}  // namespace muster::simulation
