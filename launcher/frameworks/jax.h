// The driver of JAX: where the coordination service is, how many processes there are and which one
// each worker is. Process 0 serves the others, on a port that its agent reserved.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/python_hook.h"
#include "launcher/frameworks/worker_addresses.h"

namespace muster::launcher {

/// What the hook gives to jax.distributed.initialize() besides what JAX has names for. Declared in
/// command_line/variables.cc.
inline constexpr std::string_view kJaxHeartbeatVariable = "MUSTER_JAX_HEARTBEAT_TIMEOUT";
inline constexpr std::string_view kJaxShutdownVariable = "MUSTER_JAX_SHUTDOWN_TIMEOUT";

class JaxDriver final : public FrameworkDriver {
 public:
  /// `options` is borrowed.
  explicit JaxDriver(const Options& options);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  /// kConfig: PythonHook::check().
  Status check(const std::string& program) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;

 private:
  void add_devices(int local_rank, EnvironmentPlan& plan) const;

  const Options& options_;
  std::optional<PythonHook> hook_;  // none: --jax-hook off
  std::optional<DriverHost> host_;
  WorkerAddresses addresses_;
  int devices_ = 0;  // that a worker sees
};

}  // namespace muster::launcher
