#include "launcher/contracts/contract.h"

#include <utility>

#include "base/interfaces.h"
#include "base/text.h"
#include "launcher/contracts/mpi_operator.h"
#include "launcher/contracts/trainer.h"
#include "launcher/contracts/volcano.h"
#include "mpi/launch/launch_env.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

// A rank inherits the variables of its launcher's pod, also those that tell what the pod is.
bool is_rank(const Environment& environment) {
  for (const auto& [name, value] : environment.variables()) {
    const mpi::RankVariable* row = mpi::find_rank_variable(name);
    if (row != nullptr && row->family != "Slurm step") return true;
  }
  return false;
}

struct Row {
  std::optional<Contract> (*read)(const PodFacts&);
  ContractOf jobs;
};

constexpr Row kRows[] = {{read_mpi_operator, ContractOf::kMpiJobs},
                         {read_trainer_mpi, ContractOf::kMpiJobs},
                         {read_volcano, ContractOf::kMpiJobs}};

}  // namespace

std::optional<Contract> read_contract(const PodFacts& pod, ContractOf jobs) {
  if (is_rank(pod.environment)) return std::nullopt;
  for (const Row& row : kRows) {
    if (jobs == ContractOf::kAllJobs && row.jobs == ContractOf::kMpiJobs) continue;
    if (auto contract = row.read(pod)) return contract;
  }
  return std::nullopt;
}

Result<RawFlags> apply_contract(RawFlags raw, const Contract& contract) {
  for (const ContractGap& gap : contract.gaps) {
    if (raw.given.contains(gap.flag)) continue;
    return Error{Code::kConfig, 0,
                 contract_source(contract, gap.problem) + "; give " + long_name(row_of(gap.flag))};
  }
  for (const ContractValue& value : contract.values)
    raw.given.try_emplace(value.flag, GivenValue{value.text, SourceKind::kContract, value.source});
  return raw;
}

std::vector<PlannedVariable> contract_variables(const Contract& contract) {
  std::vector<PlannedVariable> variables;
  for (const std::string& name : contract.scrubbed) {
    variables.push_back(
        {.name = name,
         .value = std::nullopt,
         .reason = "for a launcher that the controller sets up; Muster sets its own",
         .source = std::string(contract.controller)});
  }
  if (!contract.secret_file.empty()) {
    variables.push_back({.name = std::string(rendezvous::kJobSecretFileVariable),
                         .value = contract.secret_file,
                         .reason = "mounted in every pod",
                         .source = std::string(contract.controller)});
  }
  return variables;
}

Environment contract_environment(const Contract& contract, const Environment& pod) {
  EnvironmentPlan plan;
  plan.add(EnvironmentLayer::kContract, contract_variables(contract));
  return plan.merge(pod).environment;
}

std::string contract_source(const Contract& contract, std::string_view what) {
  return std::string(contract.controller) + ": " + std::string(what);
}

std::string own_full_name(const PodFacts& pod) { return full_host_name(pod.files, pod.host_name); }

std::string sibling_of(std::string_view full, std::string_view label) {
  return std::string(label) + std::string(full.substr(first_label(full).size()));
}

}  // namespace muster::launcher
