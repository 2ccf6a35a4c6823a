// FailureList: the failures of a round as its leader hears of them, each once. Part of the inside
// of Leader; included by leader_ending.h alone.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::rendezvous {

class FailureList {
 public:
  /// A node that joins again tells the same ones again. Where every rank of a large job fails, the
  /// earliest are kept: the first cause is among them.
  explicit FailureList(size_t limit) : limit_(limit) {}

  /// `failure.happened` is set. Copies of what is kept already change nothing. O(log n).
  void add(Failure failure);
  /// What is kept, by the time it happened, and leaves nothing.
  [[nodiscard]] std::vector<Failure> take();
  void clear();
  [[nodiscard]] bool empty() const { return by_time_.empty(); }

 private:
  size_t limit_;
  std::multimap<TimePoint, Failure> by_time_;  // of one moment: as they were reported
  std::unordered_set<std::string> known_;      // the processes of by_time_
};

}  // namespace muster::rendezvous
