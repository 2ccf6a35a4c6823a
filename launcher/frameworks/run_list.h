// RunList: which of the independent runs of a job are done, and which one a worker does next. Pure.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::launcher {

class RunList {
 public:
  /// Runs 0 ... `runs` - 1.
  explicit RunList(int runs) : runs_(runs) {}

  /// What this node does from now on, of what is not done: the share of its ranks, in the order of
  /// ranks, as many at a time as it has. first_rank + own_workers <= workers, or own_workers is 0.
  void deal(int first_rank, int own_workers, int workers);
  /// The worker of that local rank begins another run, or has none left.
  std::optional<int> next(int local_rank);
  /// The run that it does.
  [[nodiscard]] std::optional<int> of(int local_rank) const;
  /// That run is done; it has none.
  void done(int local_rank);

  /// "0-3,7": what is known to be done, for other nodes. "" = nothing.
  [[nodiscard]] std::string told() const;
  /// What another node knows. kPeer: no such list, or no such runs.
  Status learn(std::string_view told);
  [[nodiscard]] size_t done_count() const { return done_.size(); }

 private:
  int runs_;
  std::set<int> done_;
  std::deque<int> waiting_;
  std::map<int, int> current_;  // by local rank
};

}  // namespace muster::launcher
