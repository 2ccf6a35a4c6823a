// Kubeflow's MPIJob 1: its pods cannot look each other up. The launcher's mpirun reaches the others
// by /etc/mpi/kubexec.sh, which is kubectl exec, and no agent of ours can. Facts: training-operator
// 1.9.4, pkg/controller.v1/mpi.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// The launcher's pod runs its command as a job of its own; a worker's holds.
[[nodiscard]] std::optional<Contract> read_mpi_job_v1(const PodFacts& pod);

}  // namespace muster::launcher
