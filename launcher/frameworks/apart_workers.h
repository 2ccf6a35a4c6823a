// ApartWorkers: what a driver (driver.h) decides about single workers, if they do not all start and
// end together.
#pragma once

#include "elastic/failure.h"

namespace muster::launcher {

/// What follows the end of one worker, by itself, while others may run. One that is kept is neither
/// a success nor a failure of the group.
enum class WorkerEnd {
  kCounts,  ///< as a success or a failure
  kWaits,   ///< it is kept until DriverHost::resolve says what follows
  kAsks,    ///< it is kept and starts again alone if the job's restarts allow it, else it counts
};

class ApartWorkers {
 public:
  ApartWorkers() = default;
  ApartWorkers(const ApartWorkers&) = delete;
  ApartWorkers& operator=(const ApartWorkers&) = delete;
  virtual ~ApartWorkers() = default;

  /// Whether the worker starts with the attempt; else it is kept from the beginning.
  [[nodiscard]] virtual bool starts(int /*local_rank*/) const { return true; }
  /// Whether it may ever be kept, to start again while the others run.
  [[nodiscard]] virtual bool starts_again(int local_rank) const = 0;
  virtual WorkerEnd after(int local_rank, const elastic::Classified& end) = 0;
};

}  // namespace muster::launcher
