// A host name of its own for a node that shares its machine with others (`muster local`): Open MPI
// 5 tells nodes apart by that name, whatever its host file says, and hangs in MPI_Init otherwise.
#pragma once

#include <string>

#include "base/result.h"

namespace muster {

/// From now on this process and all that it starts are on a host called `name`, cut to what the
/// kernel takes; nobody else sees it. kOs: not permitted (it takes CAP_SYS_ADMIN).
Status take_host_name(const std::string& name);

}  // namespace muster
