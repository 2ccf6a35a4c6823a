#include "launcher/workers/worker_plan.h"

#include <utility>

#include "base/process/descriptor_budget.h"
#include "base/signals.h"
#include "base/text.h"
#include "launcher/workers/worker_count.h"
#include "nccl/devices.h"
#include "nccl/topology.h"
#include "nccl/visible_devices.h"

namespace muster::launcher {

namespace {

// The accelerators that workers use, in the order in which they count them.
std::vector<nccl::Accelerator> worker_devices(const std::vector<nccl::Accelerator>& all,
                                              const Environment& environment) {
  using enum nccl::AcceleratorKind;
  for (const auto kind : {kNvidia, kAmd, kIntelXpu}) {
    auto visible = nccl::visible_devices(all, kind, environment);
    if (!visible.devices.empty()) return std::move(visible.devices);
  }
  return {};
}

}  // namespace

Result<WorkerPlan> WorkerPlan::make(const Files& files, const Options& options,
                                    const Environment& environment, const ProcessSetup& setup,
                                    std::string node, std::string token) {
  WorkerPlan plan(options, environment, setup);
  plan.node_ = std::move(node);
  plan.token_ = std::move(token);
  if (options.log_dir) {
    // Workers get paths below it and may change their working directory.
    auto log_dir = absolute_path(*options.log_dir);
    if (!log_dir) return std::move(log_dir).error().with_context("--log-dir");
    plan.log_dir_ = std::move(*log_dir);
  }
  auto command = plan_worker_command(options, environment, files);
  if (!command) return std::move(command).error();
  plan.command_ = std::move(*command);
  MUSTER_RETURN_IF_ERROR(plan.count_workers(files));
  MUSTER_RETURN_IF_ERROR(check_descriptor_limit(setup.fd_limit, plan.local_world_size_));
  plan.set_place({});
  if (options.virtual_local_rank && plan.local_world_size_ > 0) {
    // The devices that are not there for the last worker, no attempt will find.
    auto planned = pytorch_environment(environment, plan.facts(plan.local_world_size_ - 1, {}));
    if (!planned) return std::move(planned).error();
  }
  if (plan.local_world_size_ > 1 && !environment.has("OMP_NUM_THREADS")) {
    plan.notices_.emplace_back(
        "OMP_NUM_THREADS=1 for each worker, so that they do not crowd each other out; set it to "
        "tune");
  }
  return plan;
}

// Looks at the machine only where an option asks for it: a plain `--nproc-per-node 2` costs no
// system call here.
Status WorkerPlan::count_workers(const Files& files) {
  if (options_->framework.role == MpiRole::kLauncher) {
    local_world_size_ = 0;
    return {};
  }
  const bool counted = options_->workers_per_node.kind != WorkerCountKind::kNumber;
  if (!counted && !options_->numa_binding) {
    local_world_size_ = options_->workers_per_node.number;
    return {};
  }
  auto allowed = allowed_cpus();
  if (!allowed) return std::move(allowed).error();
  const auto devices = nccl::discover_accelerators(files);
  const auto count = decide_worker_count(options_->workers_per_node,
                                         read_cpu_budget(files, *allowed), devices, *environment_);
  if (!count) return count.error();
  local_world_size_ = count->number;
  if (counted) notices_.push_back("workers on this node: " + count->reason);
  if (!options_->numa_binding) return {};
  const auto topology = nccl::read_topology(files);
  const auto visible = worker_devices(devices, *environment_);
  for (int local_rank = 0; local_rank < local_world_size_; ++local_rank) {
    auto binding =
        decide_binding(*options_->numa_binding, BindingInputs{topology, visible, *allowed},
                       local_rank, local_world_size_);
    if (!binding) return std::move(binding).error().with_context("--numa-binding");
    notices_.push_back("local rank " + std::to_string(local_rank) + " on CPUs " + binding->reason);
    bindings_.push_back(std::move(binding->cpus));
  }
  return {};
}

void WorkerPlan::set_place(const NodePlace& place) {
  place_ = place;
  if (place_.world_size == 0) place_.world_size = local_world_size_;
  if (place_.role_world_size == 0) place_.role_world_size = place_.world_size;
}

int WorkerPlan::processes(const AttemptFacts& attempt) const {
  if (!options_->framework.starts_launcher()) return local_world_size_;
  return attempt.launcher ? 1 : 0;
}

std::vector<WorkerLabel> WorkerPlan::labels() const {
  // All ranks write through the launcher.
  if (options_->framework.starts_launcher()) return {{rank_of(0), 0, options_->role, node_}};
  std::vector<WorkerLabel> labels;
  for (int local_rank = 0; local_rank < local_world_size_; ++local_rank) {
    labels.push_back({rank_of(local_rank), local_rank, options_->role, node_});
  }
  return labels;
}

OutputOptions WorkerPlan::output_options() const {
  OutputOptions output;
  output.log_dir = log_dir_;
  output.temp_dir = environment_->get("TMPDIR").value_or("/tmp");
  output.run_id = options_->run_id;
  output.redirects = options_->redirects;
  output.tee = options_->tee;
  const int writers = options_->framework.starts_launcher() ? 1 : place_.world_size;
  output.prefix_template = console_prefix_template(*options_, writers, /*teed=*/true);
  output.prefix_tee_only = console_prefix_template(*options_, writers, /*teed=*/false).empty();
  output.local_ranks_filter = options_->local_ranks_filter;
  output.stdout_filters = options_->stdout_filters;
  output.stderr_filters = options_->stderr_filters;
  return output;
}

std::string WorkerPlan::signals_to_handle() const {
  std::vector<std::string> names;
  for (const int signal : options_->signals_to_handle) names.push_back(signal_name(signal));
  return join(names, ",");
}

SpawnRequest WorkerPlan::common_request(const ChildStreams& streams) const {
  SpawnRequest request;
  request.stdout_fd = streams.stdout_fd;
  request.stderr_fd = streams.stderr_fd;
  request.signal_mask = setup_->original_mask;
  request.ignore_sigpipe = setup_->was_ignored(SIGPIPE);
  request.fd_limit = setup_->original_fd_limit;
  return request;
}

RoundFacts WorkerPlan::facts(int local_rank, const AttemptFacts& attempt) const {
  RoundFacts facts;
  facts.rank = rank_of(local_rank);
  facts.local_rank = local_rank;
  facts.group_rank = place_.node_rank;
  facts.role_rank = place_.role_rank_offset + local_rank;
  facts.world_size = place_.world_size;
  facts.local_world_size = local_world_size_;
  facts.group_world_size = place_.node_count;
  facts.role_world_size = place_.role_world_size;
  facts.role = options_->role;
  facts.master_addr = attempt.master.host;
  facts.master_port = attempt.master.port;
  facts.restart_count = attempt.attempt;
  facts.max_restarts = options_->max_restarts;
  facts.run_id = options_->run_id;
  facts.signals_to_handle = signals_to_handle();
  facts.agent_id = token_;
  facts.use_agent_store = !worker_serves_store(*environment_);
  facts.virtual_local_rank = options_->virtual_local_rank;
  return facts;
}

Result<SpawnRequest> WorkerPlan::request(int local_rank, const AttemptFacts& attempt,
                                         const ChildStreams& streams,
                                         const std::string& error_file) const {
  if (attempt.launcher) {
    SpawnRequest request = common_request(streams);
    request.program = attempt.launcher->program;
    request.arguments = attempt.launcher->arguments;
    request.environment = attempt.launcher->environment;
    if (attempt.launcher->input) request.stdin_fd = attempt.launcher->input->get();
    return request;
  }
  RoundFacts round = facts(local_rank, attempt);
  round.error_file = error_file;
  auto planned = pytorch_environment(*environment_, round);
  if (!planned) return std::move(planned).error();

  SpawnRequest request = common_request(streams);
  request.program = command_.program;
  request.arguments = command_.arguments(local_rank);
  request.environment = planned->environment.to_exec_strings();
  if (!bindings_.empty()) request.cpus = bindings_[static_cast<size_t>(local_rank)];
  return request;
}

}  // namespace muster::launcher
