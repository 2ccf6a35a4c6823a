// Shared memory that MPI ranks leave in /dev/shm when they are killed: nobody else removes it, and
// a pod has 64 MiB of it. Only what certainly belongs to nobody any more is removed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/loop.h"

namespace muster::mpi {

inline constexpr const char* kSegmentFolder = "/dev/shm";
/// Entries of the folder that are looked at; a machine with more has other troubles.
inline constexpr size_t kMaxSegmentsLooked = 10'000;

/// A file that Open MPI, MPICH, Intel MPI or UCX makes there, by its name.
[[nodiscard]] bool is_mpi_segment(std::string_view name);

struct RemovedSegments {
  size_t files = 0;
  uint64_t bytes = 0;
};

/// For another agent of this machine that sweeps: it takes a millisecond. Then both do.
inline constexpr Duration kSweepPause = std::chrono::milliseconds(2);
inline constexpr int kSweepTries = 50;

/// Removes from a folder the segments that are of one owner, were made since some time, and that
/// no process has open or mapped: the kernel says so, of those in other containers, too, by
/// granting a write lease (fcntl(2), F_SETLEASE). What cannot be asked stays. Best effort: a folder
/// that is not there has none. Agents of one machine take turns (flock(2) on the folder).
class SegmentSweeper {
 public:
  /// `loop` is borrowed.
  SegmentSweeper(Loop& loop, std::string folder, uid_t owner)
      : loop_(loop), folder_(std::move(folder)), owner_(owner) {}
  SegmentSweeper(const SegmentSweeper&) = delete;
  SegmentSweeper& operator=(const SegmentSweeper&) = delete;

  /// `done` comes once, at once or from the loop, unless another sweep begins or this is gone.
  void begin(WallTime since, std::function<void(const RemovedSegments&)> done);

 private:
  void turn();

  Loop& loop_;
  std::string folder_;
  uid_t owner_;
  WallTime since_;
  std::function<void(const RemovedSegments&)> done_;
  int tries_ = 0;
  Timer timer_;
};

}  // namespace muster::mpi
