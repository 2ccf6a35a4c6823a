#include "launcher/frameworks/mpi/rank_driver.h"

#include <utility>

#include "base/log.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/launcher_choice.h"
#include "launcher/frameworks/mpi/mpi_needs.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/pmi/pmi_ranks.h"
#ifdef MUSTER_PMIX
#include "mpi/pmi/pmix_ranks.h"
#endif

namespace muster::launcher {

namespace {

#ifdef MUSTER_PMIX

std::unique_ptr<mpi::RankServer> make_pmix(const DriverHost& host,
                                           const mpi::RankServerHooks& hooks) {
  const AgentContext& context = host.context;
  return std::make_unique<mpi::PmixRanks>(
      mpi::PmixDoors{.loop = host.doors.loop,
                     .processes = host.doors.processes,
                     .files = host.doors.files,
                     .environment = context.environment,
                     .setup = context.setup,
                     .token = context.token,
                     .folder = context.folder,
                     .start_deadline = context.options.framework.mpi_start_timeout},
      hooks);
}

Status check_pmix(const Files& files) {
  if (auto server = mpi::find_pmix_server(files); !server) return std::move(server).error();
  return {};
}

#else

// check_pmix() has ended the job before.
std::unique_ptr<mpi::RankServer> make_pmix(const DriverHost& /*host*/,
                                           const mpi::RankServerHooks& /*hooks*/) {
  return nullptr;
}

Status check_pmix(const Files& /*files*/) {
  return Error{Code::kConfig, 0,
               "--mpi-launch pmix: this muster was built without PMIx (CMake option MUSTER_PMIX)"};
}

#endif

}  // namespace

FrameworkNeeds RankDriver::needs() const {
  FrameworkNeeds needs = mpi_needs(options_.framework, contract_);
  needs.roster = contract_ != nullptr && !contract_->hosts.empty();
  needs.lost_peer_wait = mpi::kLostRankHeld;
  return needs;
}

Status RankDriver::start(const DriverHost& host) {
  host_.emplace(host);
  segments_.emplace(host_->doors.loop, host_->doors.clock);
  const mpi::RankServerHooks hooks{.exchange = host_->exchange, .kill = host_->kill};
  if (options_.framework.uses_pmi()) {
    server_ = std::make_unique<mpi::PmiRanks>(host_->doors.loop, hooks);
  } else {
    server_ = make_pmix(*host_, hooks);
  }
  if (!needs().roster) return {};
  hosts_ = std::make_unique<MpiHostList>(host_->doors.loop, host_->doors.files, *contract_,
                                         [this](int hosts) {
                                           warn_of_fixed_nodes(options_, hosts);
                                           host_->hosts_changed(hosts);
                                         });
  return {};
}

Status RankDriver::check(const std::string& program) {
  MUSTER_RETURN_IF_ERROR(check_rank_program(host_->doors.files, options_.framework, program));
  return options_.framework.uses_pmix() ? check_pmix(host_->doors.files) : Status();
}

void RankDriver::prepare_round(const rendezvous::Assign& round,
                               const std::function<void()>& ready) {
  choose_network(round);
  ready();
}

// The interface by which the agents reach each other; what the user has set stays. On loopback
// there is nothing to choose but for Open MPI, which does not use it.
void RankDriver::choose_network(const rendezvous::Assign& round) {
  network_.clear();
  const auto own = source_host({round.master_host, static_cast<uint16_t>(round.master_port)});
  if (round.node_count == 1 || !own || !needs().workers) return;
  const bool pmix = options_.framework.uses_pmix();
  if (Address{*own, 0}.is_loopback() && !pmix) return;
  const Route route = own_route(*own);
  const bool has_rdma = host_->doors.files.exists("/sys/class/infiniband");
  network_ = pmix ? mpi::openmpi_rank_settings(route.network)
                  : mpi::rank_settings(route.interface, has_rdma);
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, network_);
  std::vector<std::string> chosen;
  for (const auto& decision : plan.merge(host_->context.environment).decisions) {
    if (decision.action == VariableDecision::Action::kSet) chosen.push_back(decision.name);
  }
  log::info("ranks.network", {{"interface", route.interface}, {"variables", join(chosen, ",")}});
}

Result<std::optional<JobLauncher>> RankDriver::begin_attempt(const rendezvous::Assign& round,
                                                             int workers) {
  if (hosts_) MUSTER_RETURN_IF_ERROR(check_workers(round.roster, hosts_->with_slots()));
  segments_->attempt_begins();
  if (workers == 0) return std::optional<JobLauncher>();
  const bool shares_machine = round.node_count > 1 && Address{round.master_host, 0}.is_loopback();
  MUSTER_RETURN_IF_ERROR(server_->begin(
      {.space = mpi::rank_space_name(options_.run_id, round.attempt, host_->context.token),
       .first_rank = round.rank_offset,
       .local_size = workers,
       .world_size = round.world_size,
       .nodes = round.node_count,
       .node = round.node_rank,
       .node_name = host_->context.node,
       .shares_machine = shares_machine}));
  return std::optional<JobLauncher>();
}

Status RankDriver::add_variables(const rendezvous::Assign& /*round*/, int /*local_rank*/,
                                 EnvironmentPlan& plan) const {
  plan.add(EnvironmentLayer::kMpi, network_);
  plan.add(EnvironmentLayer::kMpi, node_variables(/*unbound=*/false));
  return {};
}

Status RankDriver::attach(int local_rank, WorkerStart& worker) {
  auto attached = server_->attach(local_rank, worker.request);
  if (!attached) return std::move(attached).error();
  worker.environment.add(EnvironmentLayer::kMpi, std::move(attached->variables));
  for (UniqueFd& inherited : attached->inherited) worker.inherited.push_back(std::move(inherited));
  return {};
}

void RankDriver::exchanged(uint64_t sequence, const Result<std::vector<std::string>>& all) {
  server_->exchanged(sequence, all);
}

std::optional<TimePoint> RankDriver::told_end(int local_rank) const {
  return server_->told_end(local_rank);
}

std::optional<WorkerVerdict> RankDriver::ended(int local_rank, bool success) {
  auto verdict = server_->exited(local_rank, success);
  if (!verdict) return std::nullopt;
  return WorkerVerdict{verdict->exit_code, std::move(verdict->reason), verdict->infrastructure};
}

void RankDriver::clean_up(const std::function<void()>& done) { segments_->clean_up(done); }

}  // namespace muster::launcher
