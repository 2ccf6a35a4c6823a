// Kubeflow Trainer 2: a JobSet whose nodes are the pods JOB-node-0-N. Facts: Trainer 2.3 and main
// of 2026-08-21, pkg/runtime/framework/plugins.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// Its MPI runtimes: one launcher's pod, which has a hostfile, and nodes' pods, which have a
/// mounted key and their names. None: not a pod of an indexed Job with the names JOB-launcher-0-0
/// or JOB-node-0-N, or one of another runtime, or a node without the key, so that there may be no
/// launcher.
[[nodiscard]] std::optional<Contract> read_trainer_mpi(const PodFacts& pod);

/// Those whose variables say the rank, the number and the first of the nodes. None: they are not
/// all there, or no plain numbers, or the first is not JOB-node-0-0.SUBDOMAIN.
[[nodiscard]] std::optional<Contract> read_trainer_torch(const PodFacts& pod);
[[nodiscard]] std::optional<Contract> read_trainer_jax(const PodFacts& pod);
/// The number is that of the GPUs of all nodes, and the ranks are those of nodes: a gap if they do
/// not fit.
[[nodiscard]] std::optional<Contract> read_trainer_xgboost(const PodFacts& pod);

}  // namespace muster::launcher
