#include "launcher/contracts/mpi_job_v1.h"

#include <string>

#include "base/text.h"
#include "launcher/contracts/operator_hostfile.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kAgent = "OMPI_MCA_plm_rsh_agent";
constexpr const char* kScript = "/etc/mpi/kubexec.sh";
constexpr std::string_view kLauncherSuffix = "-launcher";

}  // namespace

std::optional<Contract> read_mpi_job_v1(const PodFacts& pod) {
  Contract contract;
  contract.controller = "MPIJob v1";
  const std::string name = own_pod_name(pod);
  const std::string_view label = first_label(name);
  if (pod.environment.get(kAgent) == kScript) {
    if (label.ends_with(kLauncherSuffix))
      contract.job = std::string(label.substr(0, label.size() - kLauncherSuffix.size()));
    say(contract, flag::kFramework, "plain", kAgent);
    say(contract, flag::kNnodes, "1", kAgent);
    // Open MPI 5 does not look at the operator's, and would start all ranks in this pod.
    contract.added = {{"PRTE_MCA_plm_ssh_agent", kScript},
                      {"PRTE_MCA_prte_default_hostfile", kOperatorHostfile}};
    return contract;
  }
  if (!pod.files.exists(kScript) || pod.files.exists(kOperatorHostfile)) return std::nullopt;
  if (const auto own = replica_name(label, "worker")) contract.job = own->stem;
  contract.holds = true;
  return contract;
}

}  // namespace muster::launcher
