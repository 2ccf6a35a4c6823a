// Recipes: what clouds and makers of machines publish for them, beyond what follows from the
// devices alone. One function for each; a machine that none recognises gets none.
#pragma once

#include <string>

#include "nccl/plan/plan_writer.h"

namespace muster::nccl {

/// The first recipe that recognises the machine adds what it wants. `hcas` is what was chosen.
void add_recipe(const HcaChoice& hcas, PlanWriter& writer);

/// kTcpx or kFastrak for Google's machines whose GPUs have cards without RDMA; else kNone.
[[nodiscard]] FabricKind google_fabric(const Machine& machine);

/// GB200 and GB300, whose GPUs share NVLink with those of other nodes.
[[nodiscard]] bool shares_nvlink(const Machine& machine);

/// "Amazon EC2 p5.48xlarge": vendor and product without what says nothing; "" = unknown.
[[nodiscard]] std::string machine_name(const MachineMaker& maker);

}  // namespace muster::nccl
