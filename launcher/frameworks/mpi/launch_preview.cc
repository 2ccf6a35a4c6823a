#include "launcher/frameworks/mpi/launch_preview.h"

#include <unistd.h>

#include <utility>

#include "base/process/own_binary.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/launcher_choice.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "mpi/launch/rank_agent.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

std::string made(std::string_view name) {
  return std::string(kMadeAtStart) + "/" + std::string(name);
}

Result<mpi::LaunchFacts> facts_of(const Files& files, const Options& options) {
  const auto muster = own_binary(files);
  if (!muster) return muster.error();
  const bool ssh = options.framework.uses_ssh() || options.framework.uses_sshd();
  mpi::LaunchFacts facts;
  const std::string_view link = ssh ? kSshLink : kRshLink;
  facts.rsh_program = beside(*muster, link);
  if (!files.exists(facts.rsh_program)) {
    facts.rsh_program = made(link);
    facts.rsh_words = words_for(*muster, link);
  }
  facts.hostfile = made("hosts");
  facts.hosts = options.max_nodes;
  facts.slots = options.workers_per_node.number;
  facts.has_rdma = files.exists("/sys/class/infiniband");
  facts.flat = options.framework.uses_sshd();
  facts.is_root = geteuid() == 0;
  facts.start_deadline = options.framework.mpi_start_timeout;
  return facts;
}

// Which node comes first, and the port, nobody knows before the nodes have met.
std::vector<PlannedVariable> of_ranks(const AgentContext& context, bool unbound, bool scripted,
                                      bool flat) {
  auto variables = node_variables(unbound);
  variables.push_back(rank_streams_variable(context.options, scripted));
  for (auto& variable : rank_place_variables(made("node"), "", /*by_daemon=*/false))
    variables.push_back(std::move(variable));
  if (!flat)
    variables.push_back(launcher_variable(mpi::kLauncherNetworkVariable, made("network"),
                                          "the network of a rank's node"));
  for (const char* name : {"MASTER_ADDR", "MASTER_PORT"}) {
    if (!flat) variables.push_back({name, made(name), "for PyTorch's env://", "round"});
  }
  return variables;
}

Result<LaunchPreview> preview_command(const AgentContext& context, const WorkerCommand& command,
                                      const mpi::LaunchFacts& facts) {
  EnvironmentPlan plan = launcher_environment(context.environment);
  if (!context.options.framework.is_elastic()) {
    auto settings = mpi::command_settings(facts, made("host-list"));
    if (!settings) return std::move(settings).error();
    plan.add(EnvironmentLayer::kMpi, std::move(*settings));
    if (!facts.flat) {
      plan.add(EnvironmentLayer::kMpi,
               mpi::rank_agent_settings(rank_agent(made("muster")), context.environment));
    }
    plan.add(EnvironmentLayer::kMpi,
             of_ranks(context, /*unbound=*/false, /*scripted=*/true, facts.flat));
  }
  return LaunchPreview{.name = std::string(base_name(command.program)),
                       .decisions = plan.merge(context.environment).decisions,
                       .has_rank_agent = !context.options.framework.is_elastic() && !facts.flat};
}

Result<FoundLauncher> find(const Files& files, const AgentContext& context,
                           const WorkerCommand& command) {
  const auto wanted = context.options.framework.mpi;
  if (!is_launcher_name(context.options.program)) {
    return choose_launcher(files, search_path(context.environment), wanted, command.program);
  }
  auto kind = identify_launcher(files, command.program);
  if (!kind && wanted) kind = mpi::Launcher{.implementation = *wanted};
  if (kind) return FoundLauncher{command.program, *kind};
  return Error{Code::kConfig, 0,
               "'" + command.program + "' may be of any MPI: say which with --mpi"};
}

}  // namespace

Result<LaunchPreview> preview_launch(const Files& files, const AgentContext& context) {
  const Options& options = context.options;
  auto command = plan_worker_command(options, context.environment, files);
  if (!command) return std::move(command).error();
  auto facts = facts_of(files, options);
  if (!facts) return std::move(facts).error();
  if (options.framework.runs_command()) return preview_command(context, *command, *facts);
  auto found = find(files, context, *command);
  if (!found) return std::move(found).error();
  facts->launcher = found->kind;
  const bool ours = !is_launcher_name(options.program);
  const bool flat = facts->flat;
  const bool unbound = ours && !flat;
  RankWatch watch =
      ours ? own_rank_watch(found->kind.implementation)
           : find_rank_watch(files, *found, *command, search_path(context.environment));
  const bool has_rank_agent = !flat && (ours || watch.sees_ranks());
  auto launch =
      plan_mpi_launch({.facts = std::move(*facts),
                       .path = found->path,
                       .watched = !flat,
                       .users_own = !ours,
                       .watch = std::move(watch),
                       .command = std::move(*command),
                       .muster = made("muster"),
                       .report = made("report"),
                       .agent_token = made("token"),
                       .temp_folder = "",
                       .needed_variables = of_ranks(context, unbound, /*scripted=*/false, flat)},
                      context.environment);
  if (!launch) return std::move(launch).error();
  return LaunchPreview{launch->launcher.name, std::move(launch->decisions), has_rank_agent};
}

}  // namespace muster::launcher
