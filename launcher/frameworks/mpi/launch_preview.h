// What the launcher of an MPI job would get as variables, told before the nodes have met: for
// `muster env`. Reads files, starts nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/files.h"
#include "base/result.h"
#include "launcher/frameworks/agent_context.h"
#include "launcher/frameworks/driver.h"

namespace muster::launcher {

struct LaunchPreview {
  std::string name;  ///< "mpirun"
  std::vector<VariableDecision> decisions;
  bool has_rank_agent = true;  ///< its ranks come below a `muster rank`
};

/// Of a job whose launcher starts the ranks of all nodes. The network is not known yet, so that
/// variables that name it are missing. Errors: as the job would have them.
Result<LaunchPreview> preview_launch(const Files& files, const AgentContext& context);

}  // namespace muster::launcher
