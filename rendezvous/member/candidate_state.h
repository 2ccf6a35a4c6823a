// What a member knows of one candidate for the leader, and its link to it. Part of the inside of
// Member; included by member_core.h alone.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rendezvous/agreement/takeover.h"
#include "rendezvous/leader/leader.h"

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
  bool met = false;     ///< it has spoken, ever
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

/// Heartbeats on their way to the leader, which may answer the last of several alone.
class SentBeats {
 public:
  /// The number of one that is sent now. Of more than kMaxKept that nobody answered the last ones'
  /// times are not kept: their answers renew no lease.
  uint64_t next(TimePoint now) {
    constexpr size_t kMaxKept = 256;  // more than a lease can hold
    if (sent_.size() < kMaxKept) sent_.emplace_back(next_, now);
    return next_++;
  }
  /// The leader's link is another: nobody answers those any more.
  void forget() { sent_.clear(); }
  /// When that one was sent, which was answered; none = forgotten. Those before it count as
  /// answered, too.
  std::optional<TimePoint> answered(uint64_t number) {
    std::optional<TimePoint> at;
    for (; !sent_.empty() && sent_.front().first <= number; sent_.pop_front()) {
      if (sent_.front().first == number) at = sent_.front().second;
    }
    return at;
  }

 private:
  std::deque<std::pair<uint64_t, TimePoint>> sent_;  // number, when; in order
  uint64_t next_ = 1;
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
  /// Whoever is followed has begun nothing, and gives up.
  void forget_last() { last_ = former_; }
  /// The leader's clock, when it last said it.
  [[nodiscard]] int64_t echo_ms() const { return echo_ms_; }
  [[nodiscard]] const std::optional<TimePoint>& former() const { return former_; }
  [[nodiscard]] const std::optional<TimePoint>& last() const { return last_; }

 private:
  uint64_t term_ = 0;  // whose last_ is
  int64_t echo_ms_ = 0;
  std::optional<TimePoint> last_;
  std::optional<TimePoint> former_;
};

}  // namespace muster::rendezvous
