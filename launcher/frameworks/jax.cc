#include "launcher/frameworks/jax.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "nccl/machine/visible_devices.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kSource = "JAX 0.10.2: jax/_src/distributed.py, clusters/";
constexpr std::string_view kAddressVariable = "JAX_COORDINATOR_ADDRESS";
constexpr std::string_view kDevicesVariable = "JAX_LOCAL_DEVICE_IDS";

/// JAX's 100 s are for machines that pause; where agents watch the processes they only hold up
/// those that wait for one that is gone.
constexpr int kHeartbeatTimeout = 20;

class Jax {
 public:
  explicit Jax(EnvironmentPlan& plan) : plan_(plan) {}

  void set(std::string_view name, std::optional<std::string> value, std::string_view reason) {
    plan_.add(EnvironmentLayer::kFramework, {.name = std::string(name),
                                             .value = std::move(value),
                                             .reason = std::string(reason),
                                             .source = std::string(kSource),
                                             .claim = Claim::kOverrides});
  }
  void set(std::string_view name, int value, std::string_view reason) {
    set(name, std::to_string(value), reason);
  }

 private:
  EnvironmentPlan& plan_;
};

// All five must be there. The host list is read for an address, which another variable has.
void add_slurm(Jax& jax, const rendezvous::Assign& round, int local_rank) {
  constexpr std::string_view kReason = "jax.distributed.initialize() reads it";
  jax.set("SLURM_JOB_ID", 1, kReason);
  jax.set("SLURM_STEP_NODELIST", round.master_host, kReason);
  jax.set("SLURM_NTASKS", round.world_size, kReason);
  jax.set("SLURM_PROCID", round.rank_offset + local_rank, kReason);
  jax.set("SLURM_LOCALID", local_rank, kReason);
}

int count_devices(const Files& files, const Environment& environment) {
  const auto all = nccl::discover_accelerators(files);
  const auto count = [&](nccl::AcceleratorKind kind) {
    return nccl::visible_devices(all, kind, environment).devices.size();
  };
  const size_t nvidia = count(nccl::AcceleratorKind::kNvidia);
  return static_cast<int>(nvidia > 0 ? nvidia : count(nccl::AcceleratorKind::kAmd));
}

}  // namespace

JaxDriver::JaxDriver(const Options& options) : options_(options) {
  if (options.framework.jax_hook) hook_.emplace("jax", "--jax-hook off");
}

FrameworkNeeds JaxDriver::needs() const {
  FrameworkNeeds needs;
  needs.python_module = "jax";
  needs.roster = true;
  needs.folder = hook_.has_value();
  return needs;
}

Status JaxDriver::start(const DriverHost& host) {
  host_.emplace(host);
  addresses_.start(*host_);
  devices_ = count_devices(host_->doors.files, host_->context.environment);
  return hook_ ? hook_->open(host_->context.folder) : Status();
}

Status JaxDriver::check(const std::string& /*program*/) {
  return hook_ ? hook_->check(options_) : Status();
}

void JaxDriver::prepare_round(const rendezvous::Assign& round, const std::function<void()>& ready) {
  addresses_.prepare_round(round, ready);
}

void JaxDriver::exchanged(uint64_t /*sequence*/, const Result<std::vector<std::string>>& all) {
  addresses_.exchanged(all);
}

Result<std::optional<JobLauncher>> JaxDriver::begin_attempt(const rendezvous::Assign& round,
                                                            int /*workers*/) {
  MUSTER_RETURN_IF_ERROR(addresses_.begin_attempt(round));
  return std::optional<JobLauncher>();
}

Status JaxDriver::add_variables(const rendezvous::Assign& round, int local_rank,
                                EnvironmentPlan& plan) const {
  Jax jax(plan);
  jax.set(kAddressVariable, addresses_.text(0),
          "a port of process 0's node that was kept free for it");
  // It would be for another port.
  jax.set("JAX_COORDINATOR_BIND_ADDRESS", std::nullopt, "process 0 listens on the port above");
  jax.set("JAX_NUM_PROCESSES", round.world_size, "workers of the job");
  jax.set("JAX_PROCESS_ID", round.rank_offset + local_rank, "this worker among all workers");
  add_devices(local_rank, plan);
  if (!hook_) {
    add_slurm(jax, round, local_rank);
    return {};
  }
  plan.add(EnvironmentLayer::kFramework,
           hook_->variables(host_ ? host_->context.environment : Environment()));
  plan.add(EnvironmentLayer::kDefault,
           {std::string(kJaxHeartbeatVariable), std::to_string(kHeartbeatTimeout),
            "a process that is gone is soon missed", "tried: JAX 0.10.2"});
  return {};
}

// One device for each of several workers. A worker that is alone has all, which JAX does not take
// where it believes in Slurm.
void JaxDriver::add_devices(int local_rank, EnvironmentPlan& plan) const {
  const int workers = host_ ? host_->workers() : std::max(1, options_.workers_per_node.number);
  Jax jax(plan);
  if (workers > 1) {
    const bool masked = options_.virtual_local_rank;
    return jax.set(kDevicesVariable, masked ? 0 : local_rank,
                   masked ? "it sees one device" : "one device for each worker of this node");
  }
  if (hook_ || devices_ == 0) return;
  std::vector<std::string> ids;
  for (int device = 0; device < devices_; ++device) ids.push_back(std::to_string(device));
  plan.add(EnvironmentLayer::kFramework,
           {std::string(kDevicesVariable), join(ids, ","),
            "all devices, for the only worker of this node", std::string(kSource)});
}

}  // namespace muster::launcher
