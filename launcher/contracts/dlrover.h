// DLRover's ElasticJob, all-reduce strategy. Its master knows the pods; Muster does not ask it, as
// the variables say enough. Facts: DLRover main of 2026-08, go/elasticjob/pkg.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: DLROVER_MASTER_ADDR is not there.
[[nodiscard]] std::optional<Contract> read_dlrover(const PodFacts& pod);

}  // namespace muster::launcher
