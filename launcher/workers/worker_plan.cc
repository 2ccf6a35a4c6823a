#include "launcher/workers/worker_plan.h"

#include <utility>

#include "base/process/descriptor_budget.h"
#include "base/signals.h"
#include "base/text.h"
#include "launcher/workers/worker_count.h"
#include "mpi/launch/implementation.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/topology.h"
#include "nccl/machine/visible_devices.h"

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

Result<WorkerPlan> WorkerPlan::make(const Files& files, const AgentContext& context,
                                    const FrameworkNeeds& needs, const nccl::MachineView& machine) {
  const Options& options = context.options;
  WorkerPlan plan(context, needs);
  if (options.log_dir) {
    // Workers get paths below it and may change their working directory.
    auto log_dir = absolute_path(*options.log_dir);
    if (!log_dir) return std::move(log_dir).error().with_context("--log-dir");
    plan.log_dir_ = std::move(*log_dir);
  }
  auto command = plan_worker_command(options, context.environment, files);
  if (!command) return std::move(command).error();
  // What a launcher starts may be on other nodes alone.
  if (!needs.launcher) MUSTER_RETURN_IF_ERROR(check_script(options, files));
  plan.command_ = std::move(*command);
  MUSTER_RETURN_IF_ERROR(plan.read_fabric(files, machine));
  if (!needs.workers) {
    plan.local_world_size_ = 0;
  } else {
    MUSTER_RETURN_IF_ERROR(plan.count_workers(machine.files));
  }
  MUSTER_RETURN_IF_ERROR(check_descriptor_limit(context.setup.fd_limit, plan.local_world_size_));
  plan.set_round(plan.alone());
  if (options.virtual_local_rank && plan.local_world_size_ > 0) {
    // The devices that are not there for the last worker, no attempt will find.
    auto planned = plan.environment(plan.local_world_size_ - 1, "");
    if (!planned) return std::move(planned).error();
  }
  // A launcher's workers find what it and `muster rank` give them.
  const bool gets_threads = !needs.launcher && needs.rank_variables && needs.one_thread;
  if (gets_threads && plan.local_world_size_ > 1 && !context.environment.has(kThreadsVariable))
    plan.notices_.emplace_back(kThreadsNotice);
  return plan;
}

// Looks at the machine only where an option asks for it: a plain `--nproc-per-node 2` costs no
// system call here.
Status WorkerPlan::count_workers(const Files& files) {
  const Options& options = context_->options;
  const bool counted = options.workers_per_node.kind != WorkerCountKind::kNumber;
  if (!counted && !options.numa_binding) {
    local_world_size_ = options.workers_per_node.number;
    return {};
  }
  auto allowed = allowed_cpus();
  if (!allowed) return std::move(allowed).error();
  const auto devices = fabric_ ? fabric_->machine.accelerators : nccl::discover_accelerators(files);
  const auto count = decide_worker_count(options.workers_per_node, read_cpu_budget(files, *allowed),
                                         devices, context_->environment);
  if (!count) return count.error();
  local_world_size_ = count->number;
  if (counted) notices_.push_back("workers on this node: " + count->reason);
  if (!options.numa_binding) return {};
  const auto topology = nccl::read_topology(files);
  const auto visible = worker_devices(devices, context_->environment);
  for (int local_rank = 0; local_rank < local_world_size_; ++local_rank) {
    auto binding = decide_binding(*options.numa_binding, BindingInputs{topology, visible, *allowed},
                                  local_rank, local_world_size_);
    if (!binding) return std::move(binding).error().with_context("--numa-binding");
    notices_.push_back("local rank " + std::to_string(local_rank) + " on CPUs " + binding->reason);
    bindings_.push_back(std::move(binding->cpus));
  }
  return {};
}

// Over SSH a launcher starts ranks on nodes that have no agent, and whose devices nobody looks at.
Status WorkerPlan::read_fabric(const Files& files, const nccl::MachineView& machine) {
  const FabricOptions& options = context_->options.fabric;
  const bool starts = needs_.workers || needs_.launcher;
  if (options.off || !starts || context_->options.framework.uses_sshd()) return {};
  // The usual profile is that of the machine.
  auto profile =
      nccl::read_profile(options.profile.empty() ? machine.files : files, options.profile);
  if (!profile) return std::move(profile).error();
  is_recorded_ = machine.source == nccl::MachineSource::kRecorded;
  fabric_ = nccl::read_fabric_facts(machine, context_->environment, std::move(*profile));
  return {};
}

void WorkerPlan::set_round(rendezvous::Assign round, WorkerNetwork network) {
  round_ = std::move(round);
  network_ = std::move(network);
  if (!fabric_) return;
  // Workers without ranks know of no other nodes.
  const bool many = round_.node_count > 1 && needs_.rank_variables;
  fabric_plan_ = nccl::plan_fabric(*fabric_, {.has_many_nodes = many,
                                              .has_round = network_.is_found,
                                              .reached = network_.interface,
                                              .plans_fabric = many || is_recorded_});
}

std::vector<PlannedVariable> WorkerPlan::network_variables() const {
  return fabric_ ? fabric_plan_.variables : std::vector<PlannedVariable>();
}

const nccl::FabricPlan* WorkerPlan::fabric_news() {
  if (!fabric_) return nullptr;
  std::string now = nccl::summary(fabric_plan_);
  for (const nccl::Finding& finding : fabric_plan_.findings) now += "\n" + finding.what;
  if (now == fabric_told_) return nullptr;
  fabric_told_ = std::move(now);
  return &fabric_plan_;
}

rendezvous::Assign WorkerPlan::alone(int world_size) const {
  rendezvous::Assign round;
  round.world_size = world_size == 0 ? local_world_size_ : world_size;
  round.role_world_size = round.world_size;
  return round;
}

std::string WorkerPlan::command_line() const {
  return command_without_arguments(command_, context_->options);
}

std::vector<WorkerLabel> WorkerPlan::labels() const {
  const std::string& role = context_->options.role;
  std::vector<WorkerLabel> labels;
  if (needs_.launcher) {
    if (round_.node_rank == 0)
      labels.push_back({rank_of(0), 0, role, context_->node, /*is_launcher=*/true});
    return labels;
  }
  for (int local_rank = 0; local_rank < local_world_size_; ++local_rank) {
    labels.push_back({rank_of(local_rank), local_rank, role, context_->node});
  }
  return labels;
}

OutputOptions WorkerPlan::output_options() const {
  const Options& options = context_->options;
  OutputOptions output;
  output.log_dir = log_dir_;
  output.temp_dir = context_->temp_dir;
  output.run_id = options.run_id;
  // Of a launcher's output nobody knows the rank.
  if (options.personality == Personality::kMuster) output.node = context_->node;
  output.by_rank = !output.node.empty();
  output.redirects = options.redirects;
  output.tee = options.tee;
  const int writers = needs_.launcher ? 1 : round_.world_size;
  output.prefix_template = console_prefix_template(options, writers, /*teed=*/true);
  output.prefix_tee_only = console_prefix_template(options, writers, /*teed=*/false).empty();
  output.local_ranks_filter = options.local_ranks_filter;
  output.stdout_filters = options.stdout_filters;
  output.stderr_filters = options.stderr_filters;
  return output;
}

std::string WorkerPlan::signals_to_handle() const {
  std::vector<std::string> names;
  for (const int signal : context_->options.signals_to_handle) names.push_back(signal_name(signal));
  return join(names, ",");
}

SpawnRequest WorkerPlan::common_request(const ChildStreams& streams) const {
  SpawnRequest request;
  request.stdout_fd = streams.stdout_fd;
  request.stderr_fd = streams.stderr_fd;
  request.signal_mask = context_->setup.original_mask;
  request.ignore_sigpipe = context_->setup.was_ignored(SIGPIPE);
  request.fd_limit = context_->setup.original_fd_limit;
  request.working_directory = context_->options.manifest.working_dir;
  return request;
}

RoundFacts WorkerPlan::facts(int local_rank) const {
  const Options& options = context_->options;
  RoundFacts facts;
  facts.rank = rank_of(local_rank);
  facts.local_rank = local_rank;
  facts.group_rank = round_.node_rank;
  facts.role_rank = round_.role_rank_offset + local_rank;
  facts.world_size = round_.world_size;
  facts.local_world_size = local_world_size_;
  facts.group_world_size = round_.node_count;
  facts.role_world_size = round_.role_world_size;
  facts.role = options.role;
  facts.master_addr = network_.master_name.empty() ? round_.master_host : network_.master_name;
  facts.master_port = static_cast<uint16_t>(round_.master_port);
  facts.restart_count = round_.attempt;
  facts.max_restarts = options.max_restarts;
  facts.run_id = options.run_id;
  facts.signals_to_handle = signals_to_handle();
  facts.agent_id = context_->token;
  facts.use_agent_store = !worker_hosts_store(options, context_->environment);
  facts.virtual_local_rank = options.virtual_local_rank;
  facts.is_plain = !needs_.rank_variables;
  facts.one_thread = needs_.one_thread;
  // Ranks below an mpirun write into one pipe, where a line that comes in pieces is torn.
  facts.unbuffered = options.entry == EntryKind::kProgram &&
                     options.personality == Personality::kMuster &&
                     !mpi::is_launcher_name(base_name(options.program));
  return facts;
}

Result<EnvironmentPlan> WorkerPlan::environment(int local_rank,
                                                const std::string& error_file) const {
  RoundFacts round = facts(local_rank);
  round.error_file = error_file;
  auto plan = pytorch_plan(context_->environment, round);
  if (plan && fabric_) plan->add(EnvironmentLayer::kFabric, fabric_plan_.variables);
  return plan;
}

Result<WorkerStart> WorkerPlan::start(int local_rank, const ChildStreams& streams,
                                      const std::string& error_file) const {
  auto planned = environment(local_rank, error_file);
  if (!planned) return std::move(planned).error();
  WorkerStart worker{.request = common_request(streams), .environment = std::move(*planned)};
  worker.request.program = command_.program;
  WordNames names{.local_rank = local_rank};
  if (context_->options.manifest.names_address) {
    const RoundFacts round = facts(local_rank);
    names.master_addr = round.master_addr;
    names.master_port = round.master_port;
  }
  worker.request.arguments = command_.arguments(names);
  if (!bindings_.empty()) worker.request.cpus = bindings_[static_cast<size_t>(local_rank)];
  return worker;
}

SpawnRequest WorkerPlan::start(const JobLauncher& launcher, const ChildStreams& streams) const {
  SpawnRequest request = common_request(streams);
  request.program = launcher.program;
  request.arguments = launcher.arguments;
  request.environment = launcher.environment;
  if (launcher.input) request.stdin_fd = launcher.input->get();
  return request;
}

}  // namespace muster::launcher
