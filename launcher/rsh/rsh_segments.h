// Shared memory that MPI ranks leave in /dev/shm when they are killed: nobody else removes it, and
// a pod has 64 MiB of it. Only what certainly belongs to nobody any more is removed.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace muster::launcher {

inline constexpr const char* kSegmentFolder = "/dev/shm";
/// Entries of the folder that are looked at; a machine with more has other troubles.
inline constexpr size_t kMaxSegmentsLooked = 10'000;

/// A file that Open MPI, MPICH, Intel MPI or UCX makes there, by its name.
[[nodiscard]] bool is_mpi_segment(std::string_view name);

struct RemovedSegments {
  size_t files = 0;
  uint64_t bytes = 0;
};

/// Removes from `folder` the segments that are of `owner`, were made at `since` or later, and that
/// no process has open or mapped: the kernel says so, of those in other containers, too, by
/// granting a write lease (fcntl(2), F_SETLEASE). What cannot be asked stays. Best effort: a folder
/// that is not there has none. Agents of one machine take turns (flock(2) on the folder).
RemovedSegments remove_dead_segments(const std::string& folder, WallTime since, uid_t owner);

}  // namespace muster::launcher
