// LivedRounds: the job's budget as its workers lived through it. No leader is asked what it
// counted: a round that follows one in which a worker failed, while nothing else went wrong, is a
// restart that was charged.
#pragma once

#include <algorithm>
#include <map>
#include <memory>

#include "rendezvous/electorate.h"

namespace muster::simulation {

struct LivedRound {
  TimePoint began;
  int restarts = 0;     ///< charged ones, of all that led to this round
  bool failed = false;  ///< one of its workers failed
};

class LivedRounds {
 public:
  /// Till then a round may end for other reasons than a failure.
  void trouble(TimePoint until) { trouble_until_ = std::max(trouble_until_, until); }
  /// Charged restarts that lie behind who was in `former` (null = in none) and starts anew.
  [[nodiscard]] int restarts_after(const std::shared_ptr<LivedRound>& former) const {
    if (!former) return 0;
    const bool charged = former->failed && trouble_until_ <= former->began;
    return former->restarts + (charged ? 1 : 0);
  }
  /// Somebody with so many behind it starts in that round. Shared with the nodes, because a job
  /// that nobody remembers uses the same numbers again.
  std::shared_ptr<LivedRound> start(TimePoint now, rendezvous::RoundKey key, int restarts) {
    std::shared_ptr<LivedRound>& round = rounds_[key];
    if (!round) round = std::make_shared<LivedRound>(LivedRound{.began = now});
    round->restarts = std::max(round->restarts, restarts);
    return round;
  }
  /// A job begins that knows nothing of these.
  void forget() { rounds_.clear(); }

 private:
  std::map<rendezvous::RoundKey, std::shared_ptr<LivedRound>> rounds_;
  TimePoint trouble_until_{};
};

}  // namespace muster::simulation
