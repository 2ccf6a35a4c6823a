#include "launcher/frameworks/pytorch.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/process/process_marks.h"
#include "base/text.h"
#include "launcher/options/flags.h"
#include "mpi/launch/launch_env.h"
#include "nccl/visible_devices.h"

namespace muster::launcher {
namespace {

constexpr std::string_view kSecretPrefix = "MUSTER_JOB_SECRET";

/// Changes an environment and notes what it did.
class Plan {
 public:
  explicit Plan(const Environment& agent) { result_.environment = agent; }

  void set(std::string_view name, std::string_view value, std::string_view reason) {
    result_.environment.set(name, value);
    note(name, PlanAction::kSet, value, reason);
  }

  void set(std::string_view name, int value, std::string_view reason) {
    set(name, std::to_string(value), reason);
  }

  /// False when the user's setting stands.
  bool set_unless_given(std::string_view name, std::string_view value, std::string_view reason) {
    if (const auto given = result_.environment.get(name); given) {
      if (*given != value) note(name, PlanAction::kKeep, *given, "set by the user");
      return false;
    }
    set(name, value, reason);
    return true;
  }

  void remove(const std::string& name, std::string_view reason) {
    result_.environment.unset(name);
    note(name, PlanAction::kRemove, "", reason);
  }

  [[nodiscard]] const Environment& environment() const { return result_.environment; }

  void mark_omp_choice() { result_.chose_omp_num_threads = true; }

  WorkerEnvironment finish() && {
    std::sort(result_.planned.begin(), result_.planned.end(),
              [](const PlannedVariable& a, const PlannedVariable& b) { return a.name < b.name; });
    return std::move(result_);
  }

 private:
  void note(std::string_view name, PlanAction action, std::string_view value,
            std::string_view reason) {
    result_.planned.push_back({std::string(name), action, std::string(value), std::string(reason)});
  }

  WorkerEnvironment result_;
};

void scrub(Plan& plan) {
  // The names are copied: the plan changes the map that is walked.
  std::vector<std::pair<std::string, std::string>> doomed;
  for (const auto& [name, value] : plan.environment().variables()) {
    if (name.starts_with(kSecretPrefix)) {
      doomed.emplace_back(name, "secret of the agents");
    } else if (const mpi::RankVariable* row = mpi::find_rank_variable(name); row != nullptr) {
      doomed.emplace_back(name, fmt::format("rank of an outer {} launch", row->family));
    }
  }
  for (const auto& [name, reason] : doomed) plan.remove(name, reason);
}

void set_ranks(Plan& plan, const RoundFacts& facts) {
  plan.set("RANK", facts.rank, "this worker among all workers");
  plan.set("WORLD_SIZE", facts.world_size, "workers of the job");
  plan.set("LOCAL_RANK", facts.virtual_local_rank ? 0 : facts.local_rank,
           facts.virtual_local_rank ? "--virtual-local-rank: it sees one device"
                                    : "this worker on its node");
  plan.set("LOCAL_WORLD_SIZE", facts.local_world_size, "workers of this node");
  plan.set("GROUP_RANK", facts.group_rank, "this node");
  plan.set("GROUP_WORLD_SIZE", facts.group_world_size, "nodes of the job");
  plan.set("ROLE_RANK", facts.role_rank, "this worker within its role");
  plan.set("ROLE_WORLD_SIZE", facts.role_world_size, "workers of the role");
  plan.set("ROLE_NAME", facts.role, "--role");
}

void set_rendezvous(Plan& plan, const RoundFacts& facts) {
  plan.set("MASTER_ADDR", facts.master_addr, "agent of node rank 0");
  plan.set("MASTER_PORT", facts.master_port, "job store");
  plan.set("TORCHELASTIC_RUN_ID", facts.run_id, "--rdzv-id");
  plan.set("TORCHELASTIC_RESTART_COUNT", facts.restart_count, "attempt");
  plan.set("TORCHELASTIC_MAX_RESTARTS", facts.max_restarts, "--max-restarts");
  plan.set(
      "TORCHELASTIC_USE_AGENT_STORE", facts.use_agent_store ? "True" : "False",
      facts.use_agent_store ? "the agent serves the job store" : "rank 0 serves the job store");
  plan.set("TORCHELASTIC_ERROR_FILE", facts.error_file, "where @record leaves the exception");
  plan.set("TORCHELASTIC_SIGNALS_TO_HANDLE", facts.signals_to_handle, "--signals-to-handle");
  plan.set(kAgentIdVariable, facts.agent_id, "marks everything this agent started");
}

void set_defaults(Plan& plan, const RoundFacts& facts) {
  plan.set_unless_given("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1",
                        "a failed collective ends the process");
  // One worker may use the whole machine; several would each start a thread per CPU.
  if (facts.local_world_size > 1 &&
      plan.set_unless_given("OMP_NUM_THREADS", "1", "several workers share this node's CPUs")) {
    plan.mark_omp_choice();
  }
}

// ROCm reads HIP_VISIBLE_DEVICES before CUDA_VISIBLE_DEVICES; setting both would apply one inside
// the other.
Status narrow_devices(Plan& plan, int local_rank) {
  const bool has_hip = plan.environment().has("HIP_VISIBLE_DEVICES");
  const std::string_view name = has_hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  const std::string reason =
      fmt::format("--virtual-local-rank: device of local rank {}", local_rank);
  const auto list = plan.environment().get(name);
  if (!list) {
    plan.set(name, local_rank, reason);
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
  plan.set(name, element, reason);
  return {};
}

}  // namespace

bool worker_serves_store(const Environment& environment) {
  return parse_boolean(environment.get(kDisableSharingVariable).value_or("")) == true;
}

Result<WorkerEnvironment> pytorch_environment(const Environment& agent, const RoundFacts& facts) {
  Plan plan(agent);
  scrub(plan);
  set_ranks(plan, facts);
  set_rendezvous(plan, facts);
  set_defaults(plan, facts);
  if (facts.virtual_local_rank) {
    MUSTER_RETURN_IF_ERROR(narrow_devices(plan, facts.local_rank));
  }
  return std::move(plan).finish();
}

}  // namespace muster::launcher
