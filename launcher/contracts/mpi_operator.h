// Kubeflow's mpi-operator, MPIJob v2beta1: a launcher's pod with a hostfile and workers' pods that
// know no more than their names. Facts: mpi-operator 0.8 and main of 2026-07-02, pkg/controller/
// mpi_job_controller.go.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: K_MPI_JOB_ROLE, which the operator sets in the first container of each pod, is not there.
[[nodiscard]] std::optional<Contract> read_mpi_operator(const PodFacts& pod);

}  // namespace muster::launcher
