// What the libraries of the image say of this node, by muster-probe (nccl/probe), an optional
// program: `muster` loads none of them.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "nccl/checks/node_facts.h"

namespace muster::launcher {

/// Of each library. NVML takes a second or two if no process keeps the driver loaded.
inline constexpr Duration kLibraryDeadline = std::chrono::seconds(5);

/// muster-probe beside this binary, else on PATH; "" = there is none.
[[nodiscard]] std::string find_library_probe(const Files& files, const Environment& environment);

/// Asks NVML and NCCL, and libfabric if a device of `node` needs a provider of it. Each in a child,
/// for at most kLibraryDeadline: blocks for that long. `probe`: its path; "" = nothing is asked.
/// That a library is absent, or that its answer is none, is no error.
[[nodiscard]] nccl::LibraryFacts ask_libraries(const std::string& probe,
                                               const nccl::NodeFacts& node,
                                               const Environment& environment,
                                               const ProcessSetup& setup);

}  // namespace muster::launcher
