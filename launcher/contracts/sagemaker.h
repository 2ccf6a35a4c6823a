// SageMaker's training jobs: hosts called algo-1, algo-2, …, listed in a file. Facts: SageMaker
// developer guide, "How Amazon SageMaker provides training information"; the training toolkit's
// torchrun meets on the first host at port 7777.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: no resourceconfig.json, no TRAINING_JOB_NAME beside SM_HOSTS. Ranks are places in the list
/// as it is written, which SageMaker sorts as text (algo-1, algo-10, algo-2).
[[nodiscard]] std::optional<Contract> read_sagemaker(const PodFacts& pod);

}  // namespace muster::launcher
