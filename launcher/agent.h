// Agent: carries one job through on this node. It turns what happens (exits, signals, timers) into
// events of the worker group's table and does what the table says; every decision is made
// elsewhere, in pure functions.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/loop.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/socket.h"
#include "elastic/failure.h"
#include "elastic/worker_group.h"
#include "launcher/console.h"
#include "launcher/guardian.h"
#include "launcher/init.h"
#include "launcher/job_store.h"
#include "launcher/memory_events.h"
#include "launcher/options.h"
#include "launcher/output.h"
#include "launcher/supervisor.h"
#include "launcher/worker_plan.h"

namespace muster::launcher {

/// The doors to the world, borrowed for the life of the agent.
struct AgentDoors {
  Loop& loop;
  const Clock& clock;
  ProcessHost& processes;
  Files& files;
  Network& network;
  Console& console;
};

/// What the agent is told about itself; borrowed for the life of the agent.
struct AgentContext {
  const Options& options;
  const Environment& environment;
  const ProcessSetup& setup;
  std::string node;   ///< this host's name, for people
  std::string token;  ///< random; marks everything that descends from this agent
  bool is_pid_one = false;
};

class Agent {
 public:
  Agent(AgentDoors doors, AgentContext context);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Everything that must be right before the first worker (ports, directories, devices), then the
  /// first attempt. An error means that nothing was started.
  Status start();
  /// One signal of the signalfd.
  void handle_signal(const ReceivedSignal& signal);
  /// Called once, when the job is over, everything it started is gone and all reports are written.
  void on_finished(std::function<void(int exit_code)> finished) { finished_ = std::move(finished); }

 private:
  void handle(elastic::GroupEvent event);
  void perform(elastic::GroupAction action);
  void start_attempt();
  Status prepare_attempt();
  Result<pid_t> start_worker(int local_rank);
  void start_failed(int local_rank, const Error& error);
  void terminate();
  void decide();
  void finish();
  void worker_exited(const WorkerExit& exit);
  void record_end(const WorkerExit& exit, const elastic::Classified& verdict);
  [[nodiscard]] bool all_succeeded() const { return succeeded_ == plan_->local_world_size(); }
  void request_stop(const ReceivedSignal& signal);
  void suspend();
  void start_guardian();

  AgentDoors doors_;
  AgentContext context_;
  std::function<void(int)> finished_;

  std::unique_ptr<JobStore> store_;
  std::unique_ptr<Output> output_;
  std::optional<WorkerPlan> plan_;
  std::optional<Guardian> guardian_;
  Supervisor supervisor_;

  elastic::GroupState state_ = elastic::GroupState::kIdle;
  int attempt_ = 0;
  int succeeded_ = 0;    // workers of this attempt that exited 0
  int stop_signal_ = 0;  // that ends the job; 0 = none came
  TimePoint stop_requested_;
  bool would_fail_again_ =
      false;             // this attempt could not be started, and the next could not either
  Address master_;       // of this attempt
  std::string verdict_;  // reason of the last restart decision
  std::optional<MemoryEvents>
      memory_events_;  // made after the first start, off the path to the first worker
  std::optional<uint64_t> oom_kills_at_start_;   // of this attempt; none = unknown
  std::vector<elastic::FailureRecord> records_;  // of this attempt, one per ended worker
  Timer grace_timer_;
  Timer backoff_timer_;
  Timer guardian_timer_;
};

}  // namespace muster::launcher
