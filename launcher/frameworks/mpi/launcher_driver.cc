#include "launcher/frameworks/mpi/launcher_driver.h"

#include <utility>

#include "base/check.h"
#include "launcher/frameworks/mpi/mpi_needs.h"

namespace muster::launcher {

FrameworkNeeds LauncherDriver::needs() const {
  FrameworkNeeds needs = mpi_needs(options_.framework, contract_);
  needs.launcher = true;
  needs.roster = true;
  needs.folder = true;
  return needs;
}

Status LauncherDriver::start(const DriverHost& host) {
  MUSTER_CHECK(rsh_ != nullptr);
  segments_.emplace(host.doors.loop, host.doors.clock);
  auto job = MpiJob::create({host, *rsh_});
  if (!job) return std::move(job).error();
  job_ = std::move(*job);
  return {};
}

Result<std::optional<JobLauncher>> LauncherDriver::begin_attempt(const rendezvous::Assign& round,
                                                                 int /*workers*/) {
  segments_->attempt_begins();
  return job_->begin_round(round);
}

}  // namespace muster::launcher
