// LocalGroup: the workers of this node through their attempts. It turns exits and timers into
// events of the worker group's table (elastic/worker_group.h) and does what it says. Whether
// another attempt follows is decided by agent.h for one node, by node_agent.h for many; how workers
// are told to end, by ending.h.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/process/container_watch.h"
#include "base/process/supervisor.h"
#include "base/process/terminal.h"
#include "base/signals.h"
#include "elastic/failure.h"
#include "elastic/worker_group.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/frameworks/driver.h"
#include "launcher/output/output.h"
#include "launcher/workers/ending.h"
#include "launcher/workers/late_guardian.h"
#include "launcher/workers/local_group_callbacks.h"
#include "launcher/workers/worker_plan.h"

namespace muster::launcher {

class LocalGroup {
 public:
  /// `context` and `driver` are borrowed.
  LocalGroup(AgentDoors doors, const AgentContext& context, FrameworkDriver& driver,
             LocalGroupCallbacks callbacks);
  LocalGroup(const LocalGroup&) = delete;
  LocalGroup& operator=(const LocalGroup&) = delete;

  /// Everything that must be right before the first worker: command, devices, log folders. After an
  /// error nothing was started. `workers`: of the job if known, for line prefixes; 0 = of this
  /// node.
  Status open(int workers = 0);
  /// Begins a life with attempt number `attempt`; not while one is alive.
  void start(int attempt);
  /// Ends this life: `signal` to the workers, SIGKILL after `grace`, which another call may
  /// shorten. `again`: another attempt may follow (`decide`), as after a failure; not while none
  /// runs.
  void stop(int signal, Duration grace, bool again = false);
  /// Ends it without grace.
  void kill();
  /// A signal that asks the workers to save and end; who ends after it did not fail. False: none.
  bool notify(int signal) { return ending_.notify(signal); }
  /// The driver has no ranks any more, or may have none (FrameworkDriver::has_ranks).
  void ranks_gone() { ending_.ranks_gone(); }
  /// SIGKILL to the process of one worker; its end counts as its own.
  void kill(int local_rank) { supervisor_.kill(local_rank); }
  /// The answer to `decide`: the next attempt begins after this pause; none = there is none.
  void restart(std::optional<Duration> pause);
  /// The worker that is kept (apart_workers.h) starts again after `pause`; none = its end counts.
  /// `decision`: why it may, after a failure. Nothing if all were told to end meanwhile.
  void resolve(int local_rank, std::optional<Duration> pause, const std::string& decision = "");
  void served_all();  ///< the driver serves nobody any more: who waits for that alone ends now

  /// One signal of the signalfd: reaps, forwards, suspends. True: it asks for the end of the job.
  bool handle_signal(const ReceivedSignal& signal);
  /// The last word before exit: removes what killed workers have left, lets the output drain.
  void close(std::function<void()> done);

  [[nodiscard]] bool alive() const;  ///< between start() and `finished`
  [[nodiscard]] elastic::GroupState state() const { return state_; }
  [[nodiscard]] bool all_succeeded() const;
  /// This attempt could not be started, and the next could not either.
  [[nodiscard]] bool would_fail_again() const { return would_fail_again_; }
  [[nodiscard]] int attempt() const { return attempt_; }
  /// Of the last attempt: every ended worker, in the order in which it was noticed.
  [[nodiscard]] const std::vector<elastic::FailureRecord>& records() const { return records_; }
  [[nodiscard]] const WorkerPlan& plan() const { return *plan_; }
  [[nodiscard]] std::optional<pid_t> pid_of(int local_rank) const {
    return supervisor_.pid_of(local_rank);
  }
  [[nodiscard]] std::string log_dir() const { return output_->log_dir(); }

 private:
  // A worker of which it is not said yet what follows its end.
  struct Kept {
    std::function<void()> settle;
    std::string failure;  // "" = it has not failed
    Timer pause;          // before it starts again
  };
  // Workers whose process has ended.
  struct Held {
    std::vector<std::function<void()>> lost;  // settle(): for want of another one
    std::map<int, Kept> kept;                 // by local rank
    Timer timer;                              // of the lost
  };
  void handle(elastic::GroupEvent event);
  void perform(elastic::GroupAction action);
  void start_attempt();
  Status prepare_attempt();
  [[nodiscard]] int processes() const;
  Result<pid_t> start_worker(int local_rank);
  void start_failed(int local_rank, const Error& error);
  void worker_exited(WorkerExit exit);
  void settle(const WorkerExit&, const elastic::Classified&, std::optional<TimePoint> told);
  void settle_rest();
  elastic::Classified judge(WorkerExit& exit);
  void record_end(const WorkerExit& exit, const elastic::Classified& verdict,
                  std::optional<TimePoint> told = {});

  AgentDoors doors_;
  const AgentContext& context_;
  LocalGroupCallbacks callbacks_;
  std::unique_ptr<Output> output_;
  std::optional<WorkerPlan> plan_;
  Supervisor supervisor_;
  LateGuardian guardian_;
  FrameworkDriver& driver_;
  Ending ending_;
  std::optional<Terminal> terminal_;  // of the only program of a job

  elastic::GroupState state_ = elastic::GroupState::kIdle;
  int attempt_ = 0;
  std::optional<JobLauncher> launcher_;  // of this attempt, if this node starts one
  Held held_;
  bool would_fail_again_ = false;
  ContainerWatch container_;                     // begun off the path to the first worker
  std::vector<elastic::FailureRecord> records_;  // of this attempt, one per ended worker
  Timer backoff_timer_;
};

}  // namespace muster::launcher
