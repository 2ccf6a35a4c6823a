// What the drivers of MPI have in common.
#pragma once

#include "launcher/frameworks/driver.h"

namespace muster::launcher {

/// By --mpi-role: which node leads, and which has workers. `contract`: null = none. Pure.
[[nodiscard]] FrameworkNeeds mpi_needs(const FrameworkOptions& framework, const Contract* contract);

}  // namespace muster::launcher
