// EarlyCalls: calls that reach a node before it has heard of its round wait for it. The launcher of
// an MPI job calls all nodes as soon as its own has: what they start for it would lack the round's
// variables, so that its ranks could not say where they run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"

namespace muster::launcher {

/// A round that is formed is heard of in milliseconds; who calls without one is served after this.
inline constexpr Duration kLongestHold = std::chrono::seconds(2);
/// At a time; those behind them are served at once.
inline constexpr size_t kMaxEarlyCalls = 256;

class EarlyCalls {
 public:
  using Serve = std::function<void(UniqueFd connection, std::string first_bytes)>;
  EarlyCalls(Loop& loop, Serve serve) : loop_(loop), serve_(std::move(serve)) {}

  /// From now on calls wait, each until release() and at most for kLongestHold.
  void hold() { holds_ = true; }
  void release();
  void take(UniqueFd connection, std::string first_bytes);

 private:
  struct Call {
    UniqueFd connection;
    std::string first_bytes;
  };
  void serve_all();

  Loop& loop_;
  Serve serve_;
  bool holds_ = false;
  std::vector<Call> calls_;
  Timer timer_;  // of the first of them
};

}  // namespace muster::launcher
