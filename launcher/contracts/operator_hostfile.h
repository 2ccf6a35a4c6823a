// The hostfile that the mpi-operator and Kubeflow's Trainer mount into the launcher's pod, and what
// follows from it for that pod. Not the hostfile of a round, which Muster writes itself.
#pragma once

#include "launcher/contracts/contract.h"
#include "launcher/options/contract_names.h"

namespace muster::launcher {

/// Adds to `contract` what the launcher's pod learns: whose mpirun, where the hostfile is, the
/// nodes, whether this pod is one of them, and the variables that would lead an mpirun to that
/// file.
[[nodiscard]] Contract with_operator_hostfile(Contract contract, const PodFacts& pod);

/// The hosts in contract.hostfile as it is now, with names by which nodes can be told apart.
/// kOs, kLimit: not readable. kConfig: not of contract.format, or no list for a job of our own.
[[nodiscard]] Result<std::vector<mpi::HostSlots>> read_operator_hostfile(const Files& files,
                                                                         const Contract& contract);

}  // namespace muster::launcher
