// XgboostDriver: workers that train one model of XGBoost together. They dial a tracker, which the
// agent of node rank 0 serves on the job port (rendezvous/xgboost/), and which gives them the ranks
// of the job.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/python_hook.h"
#include "launcher/frameworks/worker_addresses.h"
#include "nccl/machine/accelerators.h"
#include "rendezvous/xgboost/short_calls.h"
#include "rendezvous/xgboost/tracker_server.h"

namespace muster::launcher {

/// Read by the hook. Declared in command_line/variables.cc.
inline constexpr std::string_view kXgboostTrackerVariable = "MUSTER_XGBOOST_TRACKER";
inline constexpr std::string_view kXgboostTaskVariable = "MUSTER_XGBOOST_TASK_ID";
inline constexpr std::string_view kXgboostRetryVariable = "MUSTER_XGBOOST_RETRY";
inline constexpr std::string_view kXgboostTimeoutVariable = "MUSTER_XGBOOST_TIMEOUT";

class XgboostDriver final : public FrameworkDriver {
 public:
  /// `options` are borrowed.
  explicit XgboostDriver(const Options& options);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  Status check(const std::string& program) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  Status attach(int local_rank, WorkerStart& worker) override;
  bool tell_ranks(int signal) override;
  std::optional<WorkerVerdict> ended(int local_rank, bool success) override;
  void round_over() override;

 private:
  rendezvous::TrackerHooks hooks();
  void begin(const rendezvous::Assign& round);
  void failed(const rendezvous::TrackerFailure& failure);
  [[nodiscard]] std::string host_of(const std::string& task_id, const std::string& source) const;
  void add_machine(int local_rank, EnvironmentPlan& plan) const;

  const Options& options_;
  std::optional<PythonHook> hook_;  // none = --xgboost-hook off
  std::optional<DriverHost> host_;
  std::vector<nccl::Accelerator> devices_;
  WorkerAddresses addresses_;
  std::optional<rendezvous::TrackerServer> tracker_;
  std::optional<rendezvous::ShortCalls> calls_;  // to the tracker on another node
  rendezvous::Assign round_;
  bool prepared_ = false;  // round_ was, with the tracker's group
  bool stopping_ = false;  // the workers here were told to end
};

}  // namespace muster::launcher
