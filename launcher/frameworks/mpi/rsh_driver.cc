#include "launcher/frameworks/mpi/rsh_driver.h"

#include <utility>

#include "base/log.h"
#include "launcher/options/job_setup.h"

namespace muster::launcher {

RshDriver::RshDriver(const Options& options, std::unique_ptr<FrameworkDriver> inner,
                     std::function<void(mpi::RshServer&)> made)
    : options_(options), inner_(std::move(inner)), made_(std::move(made)) {}

FrameworkNeeds RshDriver::needs() const {
  FrameworkNeeds needs = inner_->needs();
  needs.roster = true;
  return needs;
}

Status RshDriver::start(const DriverHost& host) {
  MUSTER_RETURN_IF_ERROR(make_server(host));
  if (made_) made_(*rsh_);
  if (!options_.framework.is_mpi()) make_callers(host);
  return inner_->start(host);
}

Status RshDriver::make_server(const DriverHost& host) {
  const bool ranks_report = inner_->needs().launcher;
  auto rsh = mpi::RshServer::create(
      {.loop = host.doors.loop,
       .processes = host.doors.processes,
       .files = host.doors.files,
       .network = host.doors.network,
       .pod = host.context.environment,
       .setup = host.context.setup,
       .tls = host.tls,
       .node = host.context.node,
       .incarnation = random_number(host.context.token),
       .run_id = options_.run_id,
       .agent_token = host.context.token,
       .max_nodes = static_cast<size_t>(options_.max_nodes),
       .ranks_report = ranks_report,
       .max_requests = ranks_report ? mpi::kMaxRshLines : mpi::kMaxRshRequests});
  if (!rsh) return std::move(rsh).error();
  rsh_ = std::move(*rsh);
  host.serve(rendezvous::Protocol::kCommands,
             [this](Arrival arrival) { rsh_->adopt(std::move(arrival)); });
  return {};
}

void RshDriver::make_callers(const DriverHost& host) {
  segments_.emplace(host.doors.loop, host.doors.clock);
  auto callers = MpiCallers::create(host, *rsh_);
  if (callers) {
    callers_.emplace(std::move(*callers));
  } else {
    log::warning("rsh.callers", {{"error", callers.error().text}, {"action", kNoMpiCallers}});
  }
}

void RshDriver::prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) {
  rsh_->set_nodes(round.roster);
  if (callers_) caller_settings_ = callers_->begin_round(round);
  inner_->prepare_round(round, ready);
}

Result<std::optional<JobLauncher>> RshDriver::begin_attempt(const rendezvous::Assign& round,
                                                            int workers) {
  if (segments_) segments_->attempt_begins();
  if (callers_) callers_->begin_attempt();
  return inner_->begin_attempt(round, workers);
}

Status RshDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                EnvironmentPlan& plan) const {
  if (rsh_) plan.add(EnvironmentLayer::kAgent, rsh_->worker_variables());
  plan.add(EnvironmentLayer::kMpi, caller_settings_);
  return inner_->add_variables(round, local_rank, plan);
}

void RshDriver::process_exited(const Reaped& reaped) {
  inner_->process_exited(reaped);
  rsh_->process_exited(reaped);
}

void RshDriver::round_over() {
  rsh_->kill_all();
  inner_->round_over();
}

// What other nodes run here ends with this agent; it is no worker.
void RshDriver::leave(std::optional<Duration> grace, const std::function<void()>& done) {
  inner_->leave(grace, [this, grace, done] {
    const auto stop = [this, done] { rsh_->stop(done); };
    if (!grace || rsh_->drained(*grace, stop)) stop();
  });
}

void RshDriver::hurry() {
  inner_->hurry();
  rsh_->hurry();
}

void RshDriver::clean_up(const std::function<void()>& done) {
  inner_->clean_up([this, done] { segments_ ? segments_->clean_up(done) : done(); });
}

}  // namespace muster::launcher
