// Kubeflow's TFJob: TF_CONFIG as the operator writes it lists all pods by name. Facts:
// training-operator 1.9.4, pkg/controller.v1/tensorflow.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// Each pod is a node with one worker, in the order chief (or master), workers, servers,
/// evaluators. None: TF_CONFIG is not the operator's, but Volcano's or a user's.
[[nodiscard]] std::optional<Contract> read_tf_job(const PodFacts& pod);
/// The same of Volcano's plugin tensorflow, which writes no environment. Facts: Volcano main of
/// 2026-08-20, pkg/controllers/job/plugins/distributed-framework/tensorflow.
[[nodiscard]] std::optional<Contract> read_volcano_tensorflow(const PodFacts& pod);

}  // namespace muster::launcher
