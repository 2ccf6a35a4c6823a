// RankDriver: ranks of MPI that the agents start as their workers (--mpi-launch pmi, pmix). The
// agent answers what they ask of their mpirun (mpi/pmi/rank_server.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/mpi/left_segments.h"
#include "launcher/frameworks/mpi/mpi_hosts.h"
#include "mpi/pmi/rank_server.h"

namespace muster::launcher {

class RankDriver final : public FrameworkDriver {
 public:
  /// Both are borrowed. `contract`: null = none.
  RankDriver(const Options& options, const Contract* contract)
      : options_(options), contract_(contract) {}

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  /// kConfig: the program is none that agents can start as a rank (launcher_choice.h), the PMIx
  /// server is missing, or PMIx was left out of the build.
  Status check(const std::string& program) override;
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  Status attach(int local_rank, WorkerStart& worker) override;
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override;
  [[nodiscard]] std::optional<TimePoint> told_end(int local_rank) const override;
  std::optional<WorkerVerdict> ended(int local_rank, bool success) override;
  void clean_up(const std::function<void()>& done) override;

 private:
  void choose_network(const rendezvous::Assign& round);

  const Options& options_;
  const Contract* contract_;
  std::optional<DriverHost> host_;
  std::unique_ptr<mpi::RankServer> server_;
  std::optional<LeftSegments> segments_;
  std::unique_ptr<MpiHostList> hosts_;    // of the controller; null = it lists none
  std::vector<PlannedVariable> network_;  // of the round
};

}  // namespace muster::launcher
