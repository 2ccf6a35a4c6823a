// LoneRestarts: workers that start again by themselves, while the others run. Each agent counts its
// own against --max-restarts, with its pauses.
#pragma once

#include <map>
#include <optional>

#include "base/loop.h"
#include "elastic/failure.h"
#include "launcher/frameworks/driver.h"

namespace muster::launcher {

class LoneRestarts {
 public:
  /// `host` is borrowed. After FrameworkDriver::start().
  void start(const DriverHost& host) { host_ = &host; }
  /// In ApartWorkers::keeps(): false = the budget is used up, and the failure is one of all.
  bool grant(int local_rank, const elastic::Classified& end);

 private:
  const DriverHost* host_ = nullptr;
  int used_ = 0;
  std::map<int, Timer> pauses_;  // by local rank
};

}  // namespace muster::launcher
