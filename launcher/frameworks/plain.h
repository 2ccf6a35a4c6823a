// The driver of independent programs, which are told nothing of ranks: one run for each worker, or
// --runs of them, one after the other on as many workers as there are. The nodes share the runs by
// rank, when a round begins; a lost node's are shared anew.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/loop.h"
#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/run_list.h"

namespace muster::launcher {

inline constexpr std::string_view kRunIndexVariable = "MUSTER_RUN_INDEX";

class PlainDriver final : public FrameworkDriver, private ApartWorkers {
 public:
  /// `options` is borrowed.
  explicit PlainDriver(const Options& options);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  [[nodiscard]] ApartWorkers* apart() override { return this; }

 private:
  [[nodiscard]] bool starts(int local_rank) const override {
    return runs_.of(local_rank).has_value();
  }
  [[nodiscard]] bool starts_again(int local_rank) const override;
  WorkerEnd after(int local_rank, const elastic::Classified& end) override;
  [[nodiscard]] bool restarts_alone() const;

  const Options& options_;
  std::optional<DriverHost> host_;
  RunList runs_;
  std::optional<Error> problem_;  // of the exchange
  std::function<void()> ready_;
  std::vector<int> idle_;  // local ranks that have nothing to do from the beginning
  Timer idle_timer_;
  std::vector<Timer> next_;  // by local rank
};

}  // namespace muster::launcher
