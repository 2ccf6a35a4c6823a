// What the program owes the system before anything else: signals, orphans, descriptors. Written so
// that it is right as PID 1 of a container and as an ordinary process. Called once, first thing in
// main.
#pragma once

#include <algorithm>
#include <csignal>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace muster {

/// What init_process() changed or found, for those who need the state before.
struct ProcessSetup {
  sigset_t original_mask{};           ///< signal mask at exec; workers get it back
  std::vector<int> ignored_at_start;  ///< signals that were ignored at exec (nohup: SIGHUP)
  [[nodiscard]] bool was_ignored(int signal) const {
    return std::find(ignored_at_start.begin(), ignored_at_start.end(), signal) !=
           ignored_at_start.end();
  }
  UniqueFd signal_fd;                   ///< readable when a signal is pending
  unsigned long original_fd_limit = 0;  ///< soft RLIMIT_NOFILE at exec; workers get it back
  unsigned long fd_limit = 0;           ///< soft RLIMIT_NOFILE now
};

/// In this order: open /dev/null for closed standard descriptors, block signals, signalfd, become
/// subreaper, raise the descriptor limit. kOs.
Result<ProcessSetup> init_process();

}  // namespace muster
