// LeftSegments: removes the shared memory that killed ranks of MPI have left, whoever started them:
// between two attempts, and when the job ends.
#pragma once

#include <functional>
#include <optional>

#include "base/clock.h"
#include "base/loop.h"
#include "mpi/ranks/rank_segments.h"

namespace muster::launcher {

class LeftSegments {
 public:
  /// Both are borrowed.
  LeftSegments(Loop& loop, const Clock& clock);

  /// An attempt begins: what the one before it has left goes.
  void attempt_begins();
  /// The same for the last attempt. `done` comes once, at once or from the loop.
  void clean_up(const std::function<void()>& done);

 private:
  const Clock& clock_;
  mpi::SegmentSweeper segments_;
  std::optional<WallTime> since_;  // the last attempt; none = there was none
};

}  // namespace muster::launcher
