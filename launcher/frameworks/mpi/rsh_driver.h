// RshDriver: the nodes of a job run commands for each other (--rsh), whatever its framework is. It
// stands before the framework's own driver, which it is given. If that is none of MPI, the workers
// may call an mpirun of any MPI themselves.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/mpi/left_segments.h"
#include "launcher/frameworks/mpi/mpi_callers.h"
#include "mpi/rsh/rsh_server.h"

namespace muster::launcher {

class RshDriver final : public FrameworkDriver {
 public:
  /// `options` is borrowed. `made` is told of the server before the other driver starts; it may be
  /// empty.
  RshDriver(const Options& options, std::unique_ptr<FrameworkDriver> inner,
            std::function<void(mpi::RshServer&)> made);

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  Status check(const std::string& program) override { return inner_->check(program); }
  [[nodiscard]] bool is_preparing() const override { return inner_->is_preparing(); }
  [[nodiscard]] std::string card() const override { return inner_->card(); }
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override;
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  Status add_variables(const rendezvous::Assign& round, int local_rank,
                       EnvironmentPlan& plan) const override;
  Status attach(int local_rank, WorkerStart& worker) override {
    return inner_->attach(local_rank, worker);
  }
  void exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) override {
    inner_->exchanged(sequence, all);
  }
  void follow(bool has_leader) override { inner_->follow(has_leader); }
  void process_exited(const Reaped& reaped) override;
  [[nodiscard]] bool is_serving() const override { return inner_->is_serving(); }
  [[nodiscard]] std::optional<TimePoint> told_end(int local_rank) const override {
    return inner_->told_end(local_rank);
  }
  std::optional<WorkerVerdict> ended(int local_rank, bool success) override {
    return inner_->ended(local_rank, success);
  }
  [[nodiscard]] ApartWorkers* apart() override { return inner_->apart(); }
  bool tell_ranks(int signal) override { return inner_->tell_ranks(signal); }
  [[nodiscard]] bool has_ranks() const override { return inner_->has_ranks(); }
  bool hold(const elastic::FailureRecord& record) override { return inner_->hold(record); }
  void group_ended(bool well, const std::function<void()>& settled) override {
    inner_->group_ended(well, settled);
  }
  bool succeeded(bool well) override { return inner_->succeeded(well); }
  void round_over() override;
  void leave(std::optional<Duration> grace, const std::function<void()>& done) override;
  void hurry() override;
  void clean_up(const std::function<void()>& done) override;

 private:
  Status make_server(const DriverHost& host);
  void make_callers(const DriverHost& host);

  const Options& options_;
  std::unique_ptr<mpi::RshServer> rsh_;
  std::unique_ptr<FrameworkDriver> inner_;
  std::function<void(mpi::RshServer&)> made_;
  std::optional<LeftSegments> segments_;  // only with callers: drivers of MPI have their own
  std::optional<MpiCallers> callers_;
  std::vector<PlannedVariable> caller_settings_;  // of the round
};

}  // namespace muster::launcher
