#include "launcher/frameworks/mpi/mpi_callers.h"

#include <unistd.h>

#include <utility>

#include "base/log.h"
#include "base/process/own_binary.h"
#include "base/socket.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/mpi_hosts.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "launcher/frameworks/mpi/remote_shells.h"
#include "mpi/launch/launch_settings.h"

namespace muster::launcher {

Result<MpiCallers> MpiCallers::create(const DriverHost& host, mpi::RshServer& rsh) {
  MpiCallers callers(host, rsh);
  MUSTER_RETURN_IF_ERROR(callers.prepare(host.own_host));
  return callers;
}

Status MpiCallers::prepare(const std::string& own_host) {
  const auto muster = own_binary(*files_);
  if (!muster) return muster.error();
  rsh_link_.path = beside(*muster, kRshLink);
  const bool shares_machine = Address{own_host, 0}.is_loopback();
  if (shares_machine || !files_->exists(rsh_link_.path)) {
    auto folder = TemporaryFolder::create(context_->folder);
    if (!folder) return std::move(folder).error();
    folder_ = std::move(*folder);
    auto link = find_or_make_link(*files_, *muster, kRshLink, *folder_);
    if (!link) return std::move(link).error();
    rsh_link_ = *std::move(link);
  }
  own_variables_ = node_variables(/*unbound=*/false);
  if (shares_machine) add_folders();
  rsh_->set_variables(own_variables_);
  return {};
}

void MpiCallers::begin_attempt() {
  std::vector<PlannedVariable> variables = network_below_launcher(network_());
  variables.insert(variables.end(), own_variables_.begin(), own_variables_.end());
  rsh_->set_variables(std::move(variables));
}

void MpiCallers::add_folders() {
  // Daemons of several nodes here would share the folder of Open MPI's session, and their ranks the
  // files for shared memory, which are named after the host and the rank on its node.
  for (const char* name :
       {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base",
        "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"}) {
    own_variables_.push_back({name, folder_->path(),
                              "nodes on one machine would share what is there",
                              "tried: Open MPI 4.1.4, 5.0.11"});
  }
}

std::vector<PlannedVariable> MpiCallers::begin_round(const rendezvous::Assign& assign) const {
  const auto own = source_host({assign.master_host, static_cast<uint16_t>(assign.master_port)});
  const Route route = own ? own_route(*own) : Route{};
  mpi::LaunchFacts facts;
  facts.rsh_program = rsh_link_.path;
  facts.rsh_words = rsh_link_.words;
  facts.hosts = assign.node_count;
  facts.interface = route.interface;
  facts.network = route.network;
  facts.has_ipv4 = route.has_ipv4;
  facts.is_root = geteuid() == 0;
  facts.has_dotted_names = has_dotted_names(round_hosts(assign.roster, {}));
  auto settings = mpi::caller_settings(facts);
  if (!settings) {
    log::warning("rsh.callers", {{"error", settings.error().text}, {"action", kNoMpiCallers}});
    return {};
  }
  tell_shells(mpi::replace_shell_settings(*settings, context_->environment), rsh_link_.path);
  for (PlannedVariable& variable : node_variables(/*unbound=*/false))
    settings->push_back(std::move(variable));
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kMpi, *settings);
  const auto kept = kept_names(plan.merge(context_->environment).decisions);
  log::info("rsh.callers",
            {{"rsh", rsh_link_.path}, {"interface", route.interface}, {"kept", join(kept, ",")}});
  return std::move(*settings);
}

}  // namespace muster::launcher
