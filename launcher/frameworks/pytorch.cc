#include "launcher/frameworks/pytorch.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/process/process_marks.h"
#include "base/text.h"
#include "launcher/options/flags.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/rendezvous_values.h"
#include "mpi/launch/launch_env.h"
#include "nccl/machine/visible_devices.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {
namespace {

// The rank of a worker is that of its round, whatever the pod says.
class Torchrun {
 public:
  explicit Torchrun(EnvironmentPlan& plan) : plan_(plan) {}

  void set(std::string_view name, std::string_view value, std::string_view reason,
           std::string_view source) {
    plan_.add(EnvironmentLayer::kFramework, {.name = std::string(name),
                                             .value = std::string(value),
                                             .reason = std::string(reason),
                                             .source = std::string(source),
                                             .claim = Claim::kOverrides});
  }
  void set(std::string_view name, int value, std::string_view reason, std::string_view source) {
    set(name, std::to_string(value), reason, source);
  }

 private:
  EnvironmentPlan& plan_;
};

constexpr std::string_view kRound = "round";

void add_ranks(EnvironmentPlan& plan, const RoundFacts& facts) {
  Torchrun torchrun(plan);
  torchrun.set("RANK", facts.rank, "this worker among all workers", kRound);
  torchrun.set("WORLD_SIZE", facts.world_size, "workers of the job", kRound);
  torchrun.set("LOCAL_RANK", facts.virtual_local_rank ? 0 : facts.local_rank,
               facts.virtual_local_rank ? "it sees one device" : "this worker on its node",
               facts.virtual_local_rank ? "--virtual-local-rank" : "--nproc-per-node");
  torchrun.set("LOCAL_WORLD_SIZE", facts.local_world_size, "workers of this node",
               "--nproc-per-node");
  torchrun.set("GROUP_RANK", facts.group_rank, "this node", kRound);
  torchrun.set("GROUP_WORLD_SIZE", facts.group_world_size, "nodes of the job", kRound);
  torchrun.set("ROLE_RANK", facts.role_rank, "this worker within its role", kRound);
  torchrun.set("ROLE_WORLD_SIZE", facts.role_world_size, "workers of the role", kRound);
  torchrun.set("ROLE_NAME", facts.role, "the role of this node", "--role");
}

void add_rendezvous(EnvironmentPlan& plan, const RoundFacts& facts) {
  Torchrun torchrun(plan);
  torchrun.set("MASTER_ADDR", facts.master_addr, "agent of node rank 0", kRound);
  torchrun.set("MASTER_PORT", facts.master_port, "job store", kRound);
  torchrun.set("TORCHELASTIC_RUN_ID", facts.run_id, "name of the job", "--rdzv-id");
  torchrun.set("TORCHELASTIC_RESTART_COUNT", facts.restart_count, "attempt", kRound);
  torchrun.set("TORCHELASTIC_MAX_RESTARTS", facts.max_restarts, "attempts after the first",
               "--max-restarts");
  torchrun.set(
      "TORCHELASTIC_USE_AGENT_STORE", facts.use_agent_store ? "True" : "False",
      facts.use_agent_store ? "the agent serves the job store" : "rank 0 serves the job store",
      kDisableSharingVariable);
  torchrun.set("TORCHELASTIC_ERROR_FILE", facts.error_file, "where @record leaves the exception",
               "--log-dir");
  torchrun.set("TORCHELASTIC_SIGNALS_TO_HANDLE", facts.signals_to_handle,
               "signals that end the job", "--signals-to-handle");
}

void add_defaults(EnvironmentPlan& plan, const RoundFacts& facts) {
  // A Trainer or a Fabric that is told nothing takes one node for all there are, and fails.
  for (const std::string_view name : {"PL_TRAINER_NUM_NODES", "LT_NUM_NODES"}) {
    if (facts.group_world_size == 1) break;
    plan.add(EnvironmentLayer::kDefault, {std::string(name), std::to_string(facts.group_world_size),
                                          "Lightning's default is one", "tried: Lightning 2.6"});
  }
  plan.add(EnvironmentLayer::kDefault, {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1",
                                        "a failed collective ends the process", "torchrun"});
  // One worker may use the whole machine; several would each start a thread per CPU.
  if (facts.local_world_size > 1 && facts.one_thread) {
    plan.add(EnvironmentLayer::kDefault,
             {std::string(kThreadsVariable), "1", "several workers share this node's CPUs",
              "--nproc-per-node"});
  }
}

// ROCm reads HIP_VISIBLE_DEVICES before CUDA_VISIBLE_DEVICES; setting both would apply one inside
// the other.
Status narrow_devices(EnvironmentPlan& plan, const Environment& agent, int local_rank) {
  const std::string_view name =
      agent.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  const std::string reason = fmt::format("device of local rank {}", local_rank);
  const auto list = agent.get(name);
  Torchrun torchrun(plan);
  if (!list) {
    torchrun.set(name, local_rank, reason, "--virtual-local-rank");
    return {};
  }
  const size_t usable = nccl::parse_visible_devices(*list).size();
  if (usable == 0) return {};  // it hides every device, on purpose
  if (static_cast<size_t>(local_rank) >= usable) {
    return Error{Code::kConfig, 0,
                 fmt::format("--virtual-local-rank: local rank {}, but {}={} names {} devices",
                             local_rank, name, clip_utf8(*list, 200), usable)};
  }
  const std::string element(trim(split(*list, ',')[static_cast<size_t>(local_rank)]));
  torchrun.set(name, element, reason, "--virtual-local-rank");
  return {};
}

}  // namespace

bool worker_serves_store(const Environment& environment) {
  return parse_boolean(environment.get(kDisableSharingVariable).value_or("")) == true;
}

bool worker_hosts_store(const Options& options, const Environment& environment) {
  if (worker_serves_store(environment)) return true;
  const WorkerCount& workers = options.workers_per_node;
  const bool alone =
      workers.kind == WorkerCountKind::kNumber && workers.number == 1 && !needs_node_agent(options);
  const bool own_program = options.entry == EntryKind::kProgram && is_python(options.program) &&
                           options.personality == Personality::kMuster;
  return alone && own_program && options.framework.framework == Framework::kPytorch &&
         wanted_port(options).port == 0;
}

Result<EnvironmentPlan> pytorch_plan(const Environment& agent, const RoundFacts& facts) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kDefault, mpi::outer_ranks(agent));  // a driver may set the same names
  plan.add(EnvironmentLayer::kAgent, rendezvous::secret_variables(agent));
  plan.add(EnvironmentLayer::kAgent, {.name = std::string(kAgentIdVariable),
                                      .value = facts.agent_id,
                                      .reason = "marks everything this agent started",
                                      .source = "muster",
                                      .claim = Claim::kOverrides});
  if (facts.unbuffered) {
    plan.add(EnvironmentLayer::kDefault,
             {"PYTHONUNBUFFERED", "1", "a line is shown when it is printed, as with python -u",
              "tried: Python 3.11"});
  }
  if (!facts.is_plain) {
    add_ranks(plan, facts);
    add_rendezvous(plan, facts);
    add_defaults(plan, facts);
  }
  if (facts.virtual_local_rank)
    MUSTER_RETURN_IF_ERROR(narrow_devices(plan, agent, facts.local_rank));
  return plan;
}

}  // namespace muster::launcher
