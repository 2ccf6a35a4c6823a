// The driver of Paddle: each process learns its place and the addresses of all from variables. Rank
// 0 itself serves the store that they meet at. Facts: Paddle's launcher and role maker
// (docs/frameworks/paddle.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/worker_addresses.h"

namespace muster::launcher {

class PaddleDriver final : public FrameworkDriver {
 public:
  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override {
    addresses_.prepare_round(round, ready);
  }
  void exchanged(uint64_t /*sequence*/, const Result<std::vector<std::string>>& all) override {
    addresses_.exchanged(all);
  }
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  Status attach(int local_rank, WorkerStart& worker) override;

 private:
  std::optional<DriverHost> host_;
  WorkerAddresses addresses_;
  bool has_devices_ = false;  // on this node
};

}  // namespace muster::launcher
