// ToldProcesses: which descendants were told to end, by which signal, so that nobody is told twice
// and nobody misses it.
//
// One can miss it: between fork and exec a shell's child still has the shell's handlers. It catches
// the signal, becomes its program, and the signal is lost. Such a process is found by what cannot
// be otherwise: it was sent a signal that it neither catches, blocks nor ignores, and it lives.
#pragma once

#include <map>
#include <vector>

#include "base/loop.h"
#include "base/process.h"

namespace muster {

/// Between two looks for those who missed their signal.
inline constexpr Duration kMissedSignalInterval = std::chrono::milliseconds(250);

class ToldProcesses {
 public:
  /// Both are borrowed.
  ToldProcesses(Loop& loop, ProcessHost& host) : loop_(loop), host_(host) {}
  ToldProcesses(const ToldProcesses&) = delete;
  ToldProcesses& operator=(const ToldProcesses&) = delete;

  /// A signal that asks for an end, to a child and to what is below it (ProcessHost::signal_tree).
  /// Returns whom it reached.
  std::vector<pid_t> tell_tree(pid_t child, int signal);
  /// To the topmost of `all` that were not told yet (process_tree.h untold). Returns whom it
  /// reached.
  std::vector<pid_t> tell_untold(const std::vector<Descendant>& all, int signal);
  void clear();

 private:
  void remember(const std::vector<pid_t>& reached, int signal);
  void tell_missed();

  Loop& loop_;
  ProcessHost& host_;
  std::map<pid_t, int> told_;  // the last signal of each
  Timer again_;                // active while somebody who was told may live
};

}  // namespace muster
