// Determined: containers that have met already. What its prep_container learned of the others lies
// in a file. Facts: Determined main of 2025-03, harness/determined/exec/prep_container.py.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: DET_ALLOCATION_ID or DET_MASTER is not there. A gap: rendezvous.json is not, or says
/// something else.
[[nodiscard]] std::optional<Contract> read_determined(const PodFacts& pod);

}  // namespace muster::launcher
