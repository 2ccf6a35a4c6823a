// FakeProcessHost: processes that start, receive signals and end as a test says.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/process.h"

namespace muster::testing {

class FakeProcessHost final : public ProcessHost {
 public:
  struct Sent {
    pid_t pid = 0;
    int signal = 0;
    bool group = false;
    friend bool operator==(const Sent&, const Sent&) = default;
  };

  /// The next spawn fails with this errno; 0 = succeeds.
  int fail_next_spawn = 0;
  /// What the next process prints at once; less than a pipe holds.
  std::string next_prints;
  /// Descendants of workers that are alive; each round of signal_descendants(SIGKILL) reaches and
  /// removes one.
  size_t stray_descendants = 0;
  /// Strays ignore SIGKILL, as processes in state D do.
  bool strays_are_stuck = false;
  std::vector<SpawnRequest> spawned;
  std::vector<Sent> sent;

  /// A live process ends; reap() will tell.
  void end(pid_t pid, ExitStatus status) { ended_.push_back({pid, status, alive_.erase(pid) > 0}); }
  [[nodiscard]] const std::map<pid_t, std::string>& alive() const { return alive_; }

  Result<pid_t> spawn(const SpawnRequest& request) override {
    if (fail_next_spawn != 0) {
      return os_error("exec '" + request.program + "'", std::exchange(fail_next_spawn, 0));
    }
    const std::string printed = std::exchange(next_prints, "");
    if (!printed.empty() && ::write(request.stdout_fd, printed.data(), printed.size()) < 0)
      return os_error("write");
    spawned.push_back(request);
    alive_.emplace(next_pid_, request.program);
    return next_pid_++;
  }
  bool signal_child(pid_t pid, int signal) override { return record(pid, signal, false); }
  std::vector<pid_t> signal_tree(pid_t child, int signal) override {
    return record(child, signal, false) ? std::vector{child} : std::vector<pid_t>{};
  }
  bool signal_group(pid_t pid, int signal) override { return record(pid, signal, true); }
  /// What workers started. They stay until a test removes them.
  std::vector<Descendant> left;
  std::vector<Descendant> descendants(const std::vector<pid_t>& spared) override {
    std::vector<Descendant> all = left;
    for (const auto& [pid, program] : alive_) {
      if (std::find(spared.begin(), spared.end(), pid) == spared.end()) all.push_back({pid, 1});
    }
    return all;
  }
  std::vector<pid_t> signal_all(const std::vector<Descendant>& descendants, int signal) override {
    std::vector<pid_t> reached;
    for (const Descendant& descendant : descendants) {
      sent.push_back({descendant.pid, signal, false});
      reached.push_back(descendant.pid);
    }
    return reached;
  }
  size_t signal_descendants(int signal, const std::vector<pid_t>& spared) override {
    size_t reached = 0;
    const auto alive = alive_;
    for (const auto& [pid, program] : alive) {
      if (std::find(spared.begin(), spared.end(), pid) != spared.end()) continue;
      ++reached;
      end(pid, ExitStatus{0, signal, false});
    }
    if (stray_descendants == 0) return reached;
    if (!strays_are_stuck) --stray_descendants;
    return reached + 1;
  }
  /// Of marked processes there are `marked_strays`; each SIGKILL reaches all and removes one.
  size_t marked_strays = 0;
  size_t signal_marked(int signal, const std::string& entry) override {
    marked_signals.emplace_back(signal, entry);
    const size_t reached = marked_strays;
    if (signal == SIGKILL && marked_strays > 0 && !strays_are_stuck) --marked_strays;
    return reached;
  }
  std::vector<std::pair<int, std::string>> marked_signals;
  /// Those that live on although they should have died of what was sent.
  std::set<pid_t> missed;
  [[nodiscard]] bool would_end_of(pid_t pid, int) const override { return missed.contains(pid); }
  /// By child; told once.
  std::map<pid_t, int> stopped;
  int stop_signal(pid_t child) override {
    const auto found = stopped.extract(child);
    return found.empty() ? 0 : found.mapped();
  }
  std::optional<Reaped> reap() override {
    if (ended_.empty()) return std::nullopt;
    const Reaped first = ended_.front();
    ended_.pop_front();
    return first;
  }

 private:
  bool record(pid_t pid, int signal, bool group) {
    if (!alive_.contains(pid)) return false;
    sent.push_back({pid, signal, group});
    return true;
  }

  pid_t next_pid_ = 100;
  std::map<pid_t, std::string> alive_;
  std::deque<Reaped> ended_;
};

}  // namespace muster::testing
