// Kubeflow's training-operator 1: pods and Services JOB-TYPE-INDEX, found by that name alone. What
// it calls ranks and sizes counts pods. Facts: training-operator 1.9.4, pkg/controller.v1/
// {pytorch,xgboost,paddlepaddle,jax}. TFJob and MPIJob have files of their own.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// With a master; workers alone with an elastic policy, who have no ranks and are ordered by name;
/// or workers alone without one, who are told nothing but their number.
[[nodiscard]] std::optional<Contract> read_pytorch_job(const PodFacts& pod);
[[nodiscard]] std::optional<Contract> read_xgboost_job(const PodFacts& pod);
[[nodiscard]] std::optional<Contract> read_paddle_job(const PodFacts& pod);
[[nodiscard]] std::optional<Contract> read_jax_job(const PodFacts& pod);

}  // namespace muster::launcher
