// WorkerDevice: the variable by which one worker sees one accelerator of its node, for frameworks
// that use the first one they see. Pure.
#pragma once

#include <optional>
#include <vector>

#include "base/environment.h"
#include "base/environment_plan.h"
#include "nccl/machine/accelerators.h"

namespace muster::launcher {

/// For the worker of that local rank, of `workers` on this node. An element of the list that the
/// pod has (index, "GPU-...", "MIG-...", "card.tile"), as it stands there; without a list, an index
/// of the devices that are here. None: there is no device, or fewer than workers, who then share
/// what they see.
/// NVIDIA: CUDA_VISIBLE_DEVICES. AMD: HIP_VISIBLE_DEVICES, unless the pod has ROCR_VISIBLE_DEVICES
/// or CUDA_VISIBLE_DEVICES alone: one of them only, as each counts inside what the other leaves.
/// Intel: ZE_AFFINITY_MASK.
[[nodiscard]] std::optional<PlannedVariable> one_device(const std::vector<nccl::Accelerator>& all,
                                                        const Environment& pod, int local_rank,
                                                        int workers);

}  // namespace muster::launcher
