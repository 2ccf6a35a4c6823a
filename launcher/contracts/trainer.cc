#include "launcher/contracts/trainer.h"

#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/mounted_key.h"
#include "launcher/contracts/operator_hostfile.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kIndex = "JOB_COMPLETION_INDEX";
constexpr std::string_view kLauncherSuffix = "-launcher-0-0";
constexpr std::string_view kNodeInfix = "-node-0-";
constexpr std::string_view kHostfileVariable = "OMPI_MCA_orte_default_hostfile";
// What the other runtimes set in the same pods.
constexpr std::string_view kOthers[] = {"PET_NODE_RANK", "JAX_COORDINATOR_ADDRESS",
                                        "DMLC_TRACKER_URI"};

bool of_another_runtime(const Environment& environment) {
  for (const std::string_view name : kOthers) {
    if (environment.has(name)) return true;
  }
  return false;
}

}  // namespace

std::optional<Contract> read_trainer_mpi(const PodFacts& pod) {
  const Environment& environment = pod.environment;
  if (!environment.has(kIndex) || of_another_runtime(environment)) return std::nullopt;
  const std::string_view label = first_label(pod.host_name);
  Contract contract;
  contract.controller = "Trainer";
  contract.secret_file = find_mounted_key(pod.files);
  if (label.ends_with(kLauncherSuffix) && environment.has(kHostfileVariable)) {
    contract.job = std::string(label.substr(0, label.size() - kLauncherSuffix.size()));
    say(contract, flag::kFramework, "mpi", kHostfileVariable);
    return with_operator_hostfile(std::move(contract), pod);
  }
  const size_t infix = label.rfind(kNodeInfix);
  const bool is_node = infix != std::string_view::npos && infix > 0;
  if (!is_node || contract.secret_file.empty()) return std::nullopt;
  const std::string source = contract_source(contract, "own name and " + contract.secret_file);
  contract.job = std::string(label.substr(0, infix));
  const std::string launcher = contract.job + std::string(kLauncherSuffix);
  contract.values.push_back({flag::kFramework, "mpi", source});
  contract.values.push_back({flag::kMpiRole, "worker", source});
  say(contract, flag::kRdzvEndpoint, sibling_of(own_full_name(pod), launcher), "own name");
  return contract;
}

}  // namespace muster::launcher
