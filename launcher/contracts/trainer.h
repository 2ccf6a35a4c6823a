// Kubeflow Trainer 2, its MPI runtimes: a JobSet of one launcher's pod, which has a hostfile, and
// nodes' pods, which have a mounted key and their names. Facts: Trainer 2.3 and main of 2026-08-21,
// pkg/runtime/framework/plugins/mpi.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: not a pod of an indexed Job with the names JOB-launcher-0-0 or JOB-node-0-N, or one of
/// another runtime (torch, JAX, XGBoost), or a node without the key, so that there may be no
/// launcher.
[[nodiscard]] std::optional<Contract> read_trainer_mpi(const PodFacts& pod);

}  // namespace muster::launcher
