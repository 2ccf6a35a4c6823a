// A step of Slurm (srun), whose tasks are the nodes, one on each host. Facts: srun(1), OUTPUT
// ENVIRONMENT VARIABLES; seen with Slurm 22.05.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// "gpu[08-10,12],head", "r[1-2]n[0-3]": the hosts, in the order of their node numbers. Empty: not
/// of that form, or more than kMaxNodes.
[[nodiscard]] std::vector<std::string> expand_node_list(std::string_view text);

/// None: no step (a batch script has all but SLURM_STEP_ID, and runs on one host of the job), or a
/// pod of Kubernetes that is not on the list: Slurm's variables reach pods of a bridge, too.
[[nodiscard]] std::optional<Contract> read_slurm(const PodFacts& pod);

}  // namespace muster::launcher
