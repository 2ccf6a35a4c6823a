// The driver of TensorFlow: TF_CONFIG tells each process the addresses of all and what it is
// itself. Nothing is served. Facts: TensorFlow's cluster resolver and 2.21 as it was tried
// (docs/frameworks/tensorflow.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/worker_addresses.h"

namespace muster::launcher {

/// What a rank is: of --roles, of --role of its node, else a worker.
struct TensorflowTask {
  std::string type;  ///< "chief", "worker", "ps", "evaluator"
  int index = 0;     ///< among those of its type, in the order of ranks
};

class TensorflowDriver final : public FrameworkDriver, private ApartWorkers {
 public:
  /// `options` is borrowed.
  explicit TensorflowDriver(const Options& options) : options_(options) {}

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  [[nodiscard]] std::string card() const override { return options_.role; }
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
  std::optional<WorkerVerdict> ended(int local_rank, bool success) override;
  [[nodiscard]] ApartWorkers* apart() override { return this; }
  bool succeeded(bool well) override { return well || decided_; }

 private:
  [[nodiscard]] bool starts_again(int local_rank) const override;
  WorkerEnd after(int local_rank, const elastic::Classified& end) override;
  [[nodiscard]] std::vector<TensorflowTask> tasks(const rendezvous::Assign& round) const;
  void decide(int rank);

  const Options& options_;
  std::optional<DriverHost> host_;
  WorkerAddresses addresses_;
  // of the attempt
  int first_rank_ = 0;
  std::vector<TensorflowTask> tasks_;  // by rank
  bool has_servers_ = false;           // "ps", which never end by themselves
  bool decided_ = false;               // whose success counts has succeeded, here
  Timer stop_;
};

}  // namespace muster::launcher
