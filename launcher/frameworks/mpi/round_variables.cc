#include "launcher/frameworks/mpi/round_variables.h"

#include <iterator>
#include <utility>

#include "launcher/frameworks/mpi/launcher_files.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "mpi/launch/rank_agent.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

using Variables = std::vector<PlannedVariable>;

Variables joined(Variables first, Variables second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()),
               std::make_move_iterator(second.end()));
  return first;
}

}  // namespace

bool starts_unbound(const LaunchTransport& transport, CommandKind kind) {
  return transport.has_agents() && kind == CommandKind::kProgram;
}

std::string RoundVariables::report() const {
  const Address agent{round.master_host, static_cast<uint16_t>(round.master_port)};
  const uint64_t incarnation = round.roster.empty() ? 0 : round.roster.front().identity.incarnation;
  return agent.to_string() + " " + std::to_string(incarnation) + " " + std::to_string(round.round) +
         " " + setup.context.options.run_id;
}

Variables RoundVariables::of_rank_agent() const {
  if (rank_agent.empty()) return {};
  return mpi::rank_agent_settings(rank_agent, setup.context.environment);
}

Variables RoundVariables::of_network() const { return network_below_launcher(setup.network()); }

Variables RoundVariables::of_launcher() const {
  Variables variables =
      joined(joined(setup.rsh.worker_variables(), of_both()),
             rank_place_variables(setup.context.node, setup.log_dir(), /*by_daemon=*/false));
  variables.push_back(rank_network_variable(of_network()));
  return variables;
}

Variables RoundVariables::of_daemons() const {
  // All ranks have it or none: some of its settings must be alike, and those on the launcher's node
  // have it from the `muster rank` above them.
  Variables variables = rank_agent.empty() ? Variables() : of_network();
  variables.push_back(
      launcher_variable(mpi::kRankReportVariable, report(), "whom a rank reports to"));
  variables = joined(std::move(variables),
                     rank_place_variables(setup.context.node, setup.log_dir(), /*by_daemon=*/true));
  variables = joined(std::move(variables), of_rank_agent());
  // Nodes on one machine would share the folder of Open MPI's session, and so would the launcher
  // and its daemon, which takes the node for another machine.
  if (!shared_folder.empty()) {
    variables.push_back(temp_folder_variable(shared_folder));
    variables.push_back({.name = "OMPI_MCA_btl_vader_backing_directory",
                         .value = shared_folder,
                         .reason =
                             "shared memory is named after the host and the rank on its node: "
                             "that of two nodes here would be one",
                         .source = "tried: Open MPI 4.1.4",
                         .claim = Claim::kOverrides});
  }
  return joined(std::move(variables), of_both());
}

// Nodes without agents are none of the round's, and those of an elastic launcher change while its
// ranks run.
Variables RoundVariables::of_both() const {
  Variables variables =
      joined(transport.variables(), node_variables(starts_unbound(transport, kind)));
  const bool scripted = kind == CommandKind::kScript || kind == CommandKind::kOpaque;
  variables.push_back(rank_streams_variable(setup.context.options, scripted));
  if (!transport.has_agents() || setup.context.options.framework.is_elastic()) return variables;
  return joined(std::move(variables), master_variables(round, report()));
}

}  // namespace muster::launcher
