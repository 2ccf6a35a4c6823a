// LauncherDriver: one mpirun, or a command that calls one, starts the ranks of all nodes. The work
// is done by MpiJob (mpi_job.h), which is there from start() on.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "launcher/frameworks/driver.h"
#include "launcher/frameworks/mpi/left_segments.h"
#include "launcher/frameworks/mpi/mpi_job.h"

namespace muster::launcher {

class LauncherDriver final : public FrameworkDriver {
 public:
  /// Both are borrowed. `contract`: null = none.
  LauncherDriver(const Options& options, const Contract* contract)
      : options_(options), contract_(contract) {}

  /// Before start(): what ranks, daemons and launchers of other nodes call. Borrowed.
  void use(mpi::RshServer& rsh) { rsh_ = &rsh; }

  [[nodiscard]] FrameworkNeeds needs() const override;
  Status start(const DriverHost& host) override;
  [[nodiscard]] bool is_preparing() const override { return job_->is_preparing(); }
  [[nodiscard]] std::string card() const override { return job_->card(); }
  void prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) override {
    job_->prepare_round(round, ready);
  }
  Result<std::optional<JobLauncher>> begin_attempt(const rendezvous::Assign& round,
                                                   int workers) override;
  void follow(bool has_leader) override { job_->follow(has_leader); }
  void process_exited(const Reaped& reaped) override { job_->process_exited(reaped); }
  [[nodiscard]] bool is_serving() const override { return job_->busy(); }
  bool tell_ranks(int signal) override { return job_->tell_ranks(signal); }
  [[nodiscard]] bool has_ranks() const override { return job_->has_ranks(); }
  bool hold(const elastic::FailureRecord& record) override { return job_->hold(record); }
  void group_ended(bool well, const std::function<void()>& settled) override {
    job_->group_ended(well, settled);
  }
  bool succeeded(bool well) override { return job_->launcher_succeeded(well); }
  void round_over() override { job_->round_over(); }
  void clean_up(const std::function<void()>& done) override { segments_->clean_up(done); }

 private:
  const Options& options_;
  const Contract* contract_;
  mpi::RshServer* rsh_ = nullptr;
  std::optional<LeftSegments> segments_;
  std::unique_ptr<MpiJob> job_;
};

}  // namespace muster::launcher
