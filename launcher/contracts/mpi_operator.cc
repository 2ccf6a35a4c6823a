#include "launcher/contracts/mpi_operator.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/mounted_key.h"
#include "launcher/contracts/operator_hostfile.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kRole = "K_MPI_JOB_ROLE";
constexpr std::string_view kWorkerInfix = "-worker-";
constexpr std::string_view kLauncherSuffix = "-launcher";

Contract as_worker(Contract contract, const PodFacts& pod) {
  say(contract, flag::kMpiRole, "worker", kRole);
  // JOB-worker-N, as the operator calls the pod and its host.
  const std::string own = own_pod_name(pod);
  const std::string_view label = first_label(own);
  const size_t infix = label.rfind(kWorkerInfix);
  if (infix == std::string_view::npos || infix == 0) {
    lack(contract, flag::kRdzvEndpoint,
         "the host name '" + pod.host_name +
             "' is not JOB-worker-N, so the launcher's is not known");
    return contract;
  }
  contract.job = std::string(label.substr(0, infix));
  const std::string launcher = contract.job + std::string(kLauncherSuffix);
  say(contract, flag::kRdzvEndpoint, sibling_of(own_full_name(pod), launcher), "own name");
  return contract;
}

}  // namespace

std::optional<Contract> read_mpi_operator(const PodFacts& pod) {
  const auto role = pod.environment.get(kRole);
  if (!role) return std::nullopt;
  Contract contract;
  contract.controller = "mpi-operator";
  contract.scrubbed.emplace_back(kRole);
  contract.secret_file = find_mounted_key(pod.files);
  say(contract, flag::kFramework, "mpi", kRole);
  if (role == "worker") return as_worker(std::move(contract), pod);
  if (role == "launcher") {
    // JOB-launcher, and something behind it where the pod has no host name of its own.
    const std::string_view label = first_label(pod.host_name);
    const size_t suffix = label.rfind(kLauncherSuffix);
    if (suffix != std::string_view::npos) contract.job = std::string(label.substr(0, suffix));
    return with_operator_hostfile(std::move(contract), pod);
  }
  lack(contract, flag::kMpiRole,
       std::string(kRole) + " '" + std::string(*role) + "' is neither launcher nor worker");
  return contract;
}

}  // namespace muster::launcher
