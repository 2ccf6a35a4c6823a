// How `muster env` prints planned environments. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/environment_plan.h"
#include "nccl/plan/fabric_plan.h"

namespace muster::launcher {

/// One process of this node.
struct ShownProcess {
  std::string name;     ///< "worker", or that of the launcher: "mpirun"
  int local_rank = -1;  ///< of a worker; -1 = it is none
  std::vector<VariableDecision> variables;
};

struct ShownEnvironments {
  std::vector<ShownProcess> processes;
  std::optional<nccl::FabricPlan> fabric;  ///< of the workers; none = not looked at
  std::vector<nccl::Finding> notes;        ///< for people, besides those of the fabric
};

/// "NAME=value" and "unset NAME", a line each.
[[nodiscard]] std::string env_text(const ShownEnvironments& shown);
/// The same with layer, reason and source, and with what the user's own settings keep.
[[nodiscard]] std::string env_explained(const ShownEnvironments& shown);
/// One object in one line; `all`: with the processes in a list of their own. docs/command-line.md
/// has the names.
[[nodiscard]] std::string env_json(const ShownEnvironments& shown, bool all);
/// For a shell's `eval`, of the first process. What is decided at the start is left out, with a
/// comment.
[[nodiscard]] std::string env_export(const ShownEnvironments& shown);

}  // namespace muster::launcher
