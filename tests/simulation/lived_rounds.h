// LivedRounds: the job's budget as its workers lived through it. No leader is asked what it
// counted: a round that follows one in which a worker failed, while nothing else went wrong, is a
// restart that was charged.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "rendezvous/electorate.h"

namespace muster::simulation {

/// A round that ran on all its nodes.
struct RanRound {
  rendezvous::RoundKey key{};
  int restarts = 0;               ///< that it has behind it
  std::map<uint64_t, int> ranks;  ///< by incarnation
};

struct LivedRound {
  TimePoint began;
  /// When the failures were that led to charged restarts, of all that led to this round. A restart
  /// is charged no earlier than its failure.
  std::vector<TimePoint> charged;
  std::optional<TimePoint> failed;  ///< when one of its workers failed first
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
  [[nodiscard]] std::vector<TimePoint> charged_after(
      const std::shared_ptr<LivedRound>& former) const {
    if (!former) return {};
    std::vector<TimePoint> charged = former->charged;
    if (former->failed && trouble_until_ <= former->began) charged.push_back(*former->failed);
    return charged;
  }
  /// Somebody with so many behind it starts in that round. Shared with the nodes, because a job
  /// that nobody remembers uses the same numbers again.
  std::shared_ptr<LivedRound> start(TimePoint now, rendezvous::RoundKey key,
                                    std::vector<TimePoint> charged) {
    std::shared_ptr<LivedRound>& round = rounds_[key];
    if (!round) round = std::make_shared<LivedRound>(LivedRound{now, {}, {}});
    if (charged.size() > round->charged.size()) round->charged = std::move(charged);
    return round;
  }
  /// A job begins that knows nothing of these rounds.
  void forget() { rounds_.clear(); }

 private:
  std::map<rendezvous::RoundKey, std::shared_ptr<LivedRound>> rounds_;
  TimePoint trouble_until_{};
};

}  // namespace muster::simulation
