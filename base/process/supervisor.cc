#include "base/process/supervisor.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/exit_code.h"
#include "base/log.h"

namespace muster {

namespace {

// The one of these signals that ended the worker, which a shell tells with its code; 0 = none.
int ended_by(const std::vector<int>& sent, const ExitStatus& status) {
  const auto found = std::ranges::find_if(
      sent, [&status](int signal) { return status.shell_code() == kSignalExitBase + signal; });
  return found == sent.end() ? 0 : *found;
}

// A worker may die of the first of several signals when the last one was sent already.
int stop_signal_of(const std::vector<int>& sent, const ExitStatus& status) {
  if (const int signal = ended_by(sent, status); signal != 0) return signal;
  return sent.empty() ? 0 : sent.back();
}

}  // namespace

Supervisor::Supervisor(Loop& loop, ProcessHost& host, SupervisorCallbacks callbacks)
    : loop_(loop), host_(host), callbacks_(std::move(callbacks)), told_(loop, host) {}

Result<pid_t> Supervisor::start(int local_rank, const SpawnRequest& request) {
  MUSTER_CHECK(!sweeping_);  // it would be killed at birth
  if (workers_.empty()) {    // a new attempt
    told_.clear();
    rest_signal_ = 0;
  }
  auto pid = host_.spawn(request);
  if (pid) workers_.emplace(*pid, Worker{local_rank, loop_.now(), {}, false, {}});
  return pid;
}

void Supervisor::terminate(int signal) {
  for (auto& [pid, worker] : workers_) {
    if (std::ranges::count(worker.stop_signals, signal) > 0) continue;
    if (!told_.tell_tree(pid, signal).empty()) worker.stop_signals.push_back(signal);
  }
}

std::vector<pid_t> Supervisor::terminate_rest(int signal) {
  rest_signal_ = signal;
  return told_.tell_untold(descendants(), signal);
}

bool Supervisor::await_rest() {
  awaiting_ = !descendants().empty();
  if (!awaiting_) callbacks_.tree_gone(0);
  return !awaiting_;
}

std::optional<pid_t> Supervisor::pid_of(int local_rank) const {
  for (const auto& [pid, worker] : workers_) {
    if (worker.local_rank == local_rank) return pid;
  }
  return std::nullopt;
}

void Supervisor::kill(int local_rank) {
  for (const auto& [pid, worker] : workers_) {
    if (worker.local_rank == local_rank) (void)host_.signal_child(pid, SIGKILL);  // it just ended
  }
}

void Supervisor::forward(int signal) {
  for (auto& [pid, worker] : workers_) {
    (void)host_.signal_tree(pid, signal);  // one that just ended is fine
    worker.passed_on.push_back(signal);
  }
}

void Supervisor::forward_to_groups(int signal) {
  for (const auto& [pid, worker] : workers_)
    (void)host_.signal_group(pid, signal);  // one that just ended is fine
}

void Supervisor::sweep() {
  for (auto& [pid, worker] : workers_) worker.killed = true;
  awaiting_ = false;
  sweeping_ = true;
  sweep_started_ = loop_.now();
  continue_sweep();
}

void Supervisor::continue_sweep() {
  const size_t left = host_.signal_descendants(SIGKILL, spared_);
  const bool given_up = loop_.now() - sweep_started_ >= kSweepDeadline;
  if (left > 0 && !given_up) {
    sweep_timer_ = loop_.after(kSweepInterval, [this] { continue_sweep(); });
    return;
  }
  if (left > 0) {
    log::warning("sweep.gave_up",
                 {{"processes", left},
                  {"after_s", to_seconds(kSweepDeadline)},
                  {"action", "going on without them; they are stuck in the kernel"}});
    workers_.clear();  // when they end at last, it is no end of the next attempt's workers
  }
  sweeping_ = false;
  sweep_timer_.reset();
  callbacks_.tree_gone(left);
}

void Supervisor::reap() {
  while (const auto reaped = host_.reap()) take(*reaped);
  std::stable_partition(ended_.begin(), ended_.end(),
                        [](const WorkerExit& exit) { return exit.status.signal == SIGKILL; });
  while (!ended_.empty()) {
    const WorkerExit exit = ended_.front();
    ended_.pop_front();
    callbacks_.worker_exited(exit);
  }
  if (sweeping_) continue_sweep();
  if (awaiting_ && !await_rest() && rest_signal_ != 0) (void)terminate_rest(rest_signal_);
}

void Supervisor::take(const Reaped& reaped) {
  if (workers_.contains(reaped.pid)) {
    ended_.push_back(take_worker(reaped));
    return;
  }
  std::erase(spared_, reaped.pid);
  if (reaped.spawned_by_us && callbacks_.other_exited) callbacks_.other_exited(reaped);
}

WorkerExit Supervisor::take_worker(const Reaped& reaped) {
  const auto found = workers_.find(reaped.pid);
  const Worker worker = found->second;
  workers_.erase(found);
  return {worker.local_rank,
          reaped.pid,
          reaped.status,
          stop_signal_of(worker.stop_signals, reaped.status),
          worker.killed,
          loop_.now() - worker.started,
          ended_by(worker.passed_on, reaped.status)};
}

}  // namespace muster
