// What an agent tells `muster rank` about the network of its node: the variables that ranks on the
// launcher's node get, and the launcher itself does not (mpi::kLauncherNetworkVariable). Pure.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/environment_plan.h"
#include "base/result.h"

namespace muster::launcher {

/// The value of mpi::kLauncherNetworkVariable, a JSON object of names and values.
[[nodiscard]] std::string encode_network(const std::vector<PlannedVariable>& variables);

/// `rank`, the environment that its launcher gave it, with those variables where the rank has none
/// of that name. As it is below a daemon, whose node has others. kConfig: the value is none that
/// encode_network() has written.
[[nodiscard]] Result<Environment> with_network(const Environment& rank);

}  // namespace muster::launcher
