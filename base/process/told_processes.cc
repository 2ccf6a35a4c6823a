#include "base/process/told_processes.h"

#include <utility>

namespace muster {

std::vector<pid_t> ToldProcesses::tell_tree(pid_t child, int signal) {
  auto reached = host_.signal_tree(child, signal);
  remember(reached, signal);
  return reached;
}

std::vector<pid_t> ToldProcesses::tell_untold(const std::vector<Descendant>& all, int signal) {
  auto reached = host_.signal_all(untold(all, told_), signal);
  remember(reached, signal);
  return reached;
}

void ToldProcesses::clear() {
  told_.clear();
  again_.reset();
}

void ToldProcesses::remember(const std::vector<pid_t>& reached, int signal) {
  for (const pid_t pid : reached) told_[pid] = signal;
  if (!reached.empty() && !again_.is_active())
    again_ = loop_.after(kMissedSignalInterval, [this] { tell_missed(); });
}

void ToldProcesses::tell_missed() {
  std::map<pid_t, int> alive;
  for (const Descendant& each : host_.descendants({})) {
    const auto found = told_.find(each.pid);
    if (found == told_.end()) continue;
    alive.insert(*found);
    if (host_.would_end_of(each.pid, found->second))
      (void)host_.signal_all({each}, found->second);  // one that just ended is fine
  }
  told_ = std::move(alive);
  if (!told_.empty()) again_ = loop_.after(kMissedSignalInterval, [this] { tell_missed(); });
}

}  // namespace muster
