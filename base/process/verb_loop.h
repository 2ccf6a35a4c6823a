// VerbLoop: what a verb that waits for something owns: a clock, a loop, the doors to the network
// and to processes, and the watch on signals while the loop runs.
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/socket.h"

namespace muster {

/// Called from the loop, once for each signal that arrives.
using OnSignal = std::function<void(const ReceivedSignal&)>;

/// Runs `loop` until something stops it. `signal_fd`: base/signals.h; borrowed. kOs.
Status run_with_signals(Loop& loop, int signal_fd, const OnSignal& on_signal);

class VerbLoop {
 public:
  /// kOs: no descriptors are left.
  static Result<std::unique_ptr<VerbLoop>> create();
  VerbLoop(const VerbLoop&) = delete;
  VerbLoop& operator=(const VerbLoop&) = delete;

  [[nodiscard]] const Clock& clock() const { return clock_; }
  [[nodiscard]] Loop& loop() { return *loop_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] ProcessHost& processes() { return processes_; }
  /// See run_with_signals().
  Status run(int signal_fd, const OnSignal& on_signal) {
    return run_with_signals(*loop_, signal_fd, on_signal);
  }
  /// Ends run(), from the loop.
  void stop() { loop_->stop(); }

 private:
  VerbLoop() = default;

  SystemClock clock_;
  std::unique_ptr<Loop> loop_;  // after the clock that it reads
  RealNetwork network_;
  RealProcessHost processes_;
};

}  // namespace muster
