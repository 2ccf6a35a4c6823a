// ApartWorkers: what a driver (driver.h) decides about single workers, if they do not all start and
// end together.
#pragma once

#include "elastic/failure.h"

namespace muster::launcher {

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
  /// The worker has ended, by itself, and others may run. True: it is kept, neither a success nor a
  /// failure of the group, until DriverHost::resolve says what follows.
  virtual bool keeps(int local_rank, const elastic::Classified& end) = 0;
};

}  // namespace muster::launcher
