// What a member knows of one candidate for the leader, and its link to it. Part of the inside of
// Member; included by member_core.h alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "rendezvous/leader.h"
#include "rendezvous/takeover.h"

namespace muster::rendezvous {

/// The one link to a candidate.
enum class CandidateLink { kDown, kDialling, kGreeted, kJoined };

struct CandidateState {
  CandidateLink link = CandidateLink::kDown;
  CandidateView view = CandidateView::kUnasked;
  TimePoint seen;       ///< last sign of life, or when asking began
  TimePoint dial_at;    ///< next dial, while the link is down
  TimePoint answer_by;  ///< while greeted: Welcome or Refuse
  Duration retry{};
  std::string problem;  ///< the last one, for messages
};

/// What the Leader of this process wants to know of the other candidates.
struct Inquiry {
  std::vector<int> open;  ///< were asked, and have not answered
  CandidateAnswers answers;

  [[nodiscard]] bool asks(int candidate) const {
    return std::find(open.begin(), open.end(), candidate) != open.end();
  }
};

/// When leaders were heard last: the one that is followed, and any other before it.
class LeaderWords {
 public:
  void heard(uint64_t term, int64_t clock_ms, TimePoint now) {
    if (term != term_) former_ = last_;
    term_ = term;
    echo_ms_ = clock_ms;
    last_ = now;
  }
  /// The leader's clock, when it last said it.
  [[nodiscard]] int64_t echo_ms() const { return echo_ms_; }
  [[nodiscard]] const std::optional<TimePoint>& former() const { return former_; }

 private:
  uint64_t term_ = 0;  // whose last_ is
  int64_t echo_ms_ = 0;
  std::optional<TimePoint> last_, former_;
};

}  // namespace muster::rendezvous
