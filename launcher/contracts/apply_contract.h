// What a contract does: it stands for flags that nobody gave, and changes the environment.
#pragma once

#include <string>
#include <vector>

#include "base/environment_plan.h"
#include "base/result.h"
#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// Adds a value that nobody gave. What somebody gave otherwise counts, and is one warning with
/// both.
void add_value(RawFlags& raw, const ContractValue& value);

/// Adds its values to flags that neither the command line nor a variable gave. A value that
/// somebody gave otherwise is one warning with both. Of a job of one node nothing is said of where
/// nodes meet. kConfig: a gap that they leave open.
Result<RawFlags> apply_contract(RawFlags raw, const Contract& contract);

/// The contract is of an MPI job, and `framework` (PodFacts) is another: the pods are no nodes of
/// one job then, and the contract does not count. One line for the log; "" = nothing of that.
[[nodiscard]] std::string refuses_mpi(const std::string& framework, const Contract& contract);

/// What the agent and all it starts shall see otherwise than the pod: nothing of what is scrubbed,
/// and the secret, unless there is another.
[[nodiscard]] std::vector<PlannedVariable> contract_variables(const Contract& contract);
/// The pod's environment with these.
[[nodiscard]] Environment contract_environment(const Contract& contract, const Environment& pod);

}  // namespace muster::launcher
