// EarlyCalls: calls that reach a node before the node has heard of its round, and wait for that.
// The launcher of an MPI job calls all nodes as soon as its own node has heard of the round. What
// the others started for it before they have would lack the round's variables, so that its ranks
// could not say where they run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/loop.h"
#include "base/result.h"
#include "base/strangers.h"

namespace muster::mpi {

/// Nodes hear of a round within milliseconds. A call without a round is served after this time.
inline constexpr Duration kLongestHold = std::chrono::seconds(2);
/// So many calls wait at a time; further ones are served at once.
inline constexpr size_t kMaxEarlyCalls = 256;

class EarlyCalls {
 public:
  using Serve = std::function<void(Arrival arrival, const Status& admitted)>;
  EarlyCalls(Loop& loop, Serve serve) : loop_(loop), serve_(std::move(serve)) {}

  /// From now on calls wait, each until release() and at most for kLongestHold.
  void hold() { holds_ = true; }
  void release();
  void take(Arrival arrival, Status admitted);

 private:
  struct Call {
    Arrival arrival;
    Status admitted;
  };
  void serve_all();

  Loop& loop_;
  Serve serve_;
  bool holds_ = false;
  std::vector<Call> calls_;
  Timer timer_;  // of the first of them
};

}  // namespace muster::mpi
