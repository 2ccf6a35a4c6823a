// The driver of LightGBM: where each worker listens, in the order of ranks. LightGBM reads no
// variables: a hook gives them to its Python functions, and its own program gets them as words.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/python_hook.h"
#include "launcher/frameworks/worker_addresses.h"

namespace muster::launcher {

class LightgbmDriver final : public FrameworkDriver {
 public:
  /// `options` is borrowed.
  explicit LightgbmDriver(const Options& options);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  /// kConfig: PythonHook::check().
  Status check(const std::string& program) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  /// kConfig: a node has no address of IPv4, and LightGBM knows no other.
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  Status attach(int local_rank, WorkerStart& worker) override;

 private:
  void add_threads(EnvironmentPlan& plan) const;

  const Options& options_;
  std::optional<PythonHook> hook_;  // none: --lightgbm-hook off
  std::optional<DriverHost> host_;
  WorkerAddresses addresses_;
  std::vector<std::string> machines_;  // "10.0.0.1:40001", by rank
  int first_rank_ = 0;                 // of this node
};

}  // namespace muster::launcher
