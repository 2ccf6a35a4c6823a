// Agent: carries a job of one node through: the job store, the workers (local_group.h), the restart
// policy, the end. A job of many nodes has node_agent.h in its place.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/signals.h"
#include "base/tls.h"
#include "elastic/round_policy.h"
#include "launcher/agent/health_check.h"
#include "launcher/agent/leading/leader_host.h"
#include "launcher/agent/node_facts.h"
#include "launcher/agent/serving/job_store.h"
#include "launcher/agent/single_timeline.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/frameworks/driver.h"
#include "launcher/workers/local_group.h"

namespace muster::launcher {

class Agent {
 public:
  Agent(AgentDoors doors, AgentContext context, std::unique_ptr<FrameworkDriver> driver);
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  /// Everything that must be right before the first worker (ports, directories, devices), then the
  /// first attempt. An error means that nothing was started.
  Status start();
  /// One signal of the signalfd.
  void handle_signal(const ReceivedSignal& signal);
  /// Called once, when the job is over, everything it started is gone and all reports are written.
  void on_finished(std::function<void(int exit_code)> finished) { finished_ = std::move(finished); }
  /// For whoever asks how this node is (status_port).
  [[nodiscard]] NodeFacts facts() const;

 private:
  LocalGroupCallbacks group_callbacks();
  DriverHost driver_host();
  Result<rendezvous::Assign> next_round();
  rendezvous::RestartVerdict judge(const elastic::FailureRecord& first);
  void decide();
  void when_fit(std::function<void()> begin);
  void end_workers(int signal, Duration grace);
  [[nodiscard]] bool has_failed();
  void finish();
  void request_stop(const ReceivedSignal& signal);
  void note_stop(int signal, pid_t sender);
  void save_and_stop(Duration grace);
  void adopt_control(Arrival arrival);
  Status open_desk();
  Status obey(const rendezvous::JobCommand& command, const std::string& by);
  [[nodiscard]] SingleTimeline timeline() const;

  struct StopRequest {
    int signal = 0;           // that ends the job; 0 = none came
    bool had_failed = false;  // the job had, for good, before it came
    TimePoint when;
  };

  // What was said of how the job ends.
  struct EndWords {
    std::string restart;                            // the last decision about one
    std::string asked;                              // who wants another attempt now; "" = nobody
    std::optional<elastic::FailureRecord> failure;  // of the driver: the job ends with it
    std::string unfit;                              // why this node is; the job ends with it
  };

  AgentDoors doors_;
  AgentContext context_;
  std::function<void(int)> finished_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<FrameworkDriver> driver_;
  LocalGroup group_;
  rendezvous::JobOptions job_;
  std::unique_ptr<TlsContext> tls_;
  std::unique_ptr<LeaderHost> desk_;  // answers observers; made when the first one comes
  elastic::RoundPolicy policy_;
  HealthCheck health_;
  EndWords end_words_;
  StopRequest stop_;
  TimePoint started_;
  Timer save_timer_;
};

}  // namespace muster::launcher
