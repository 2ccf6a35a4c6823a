// Probes: what `muster doctor` finds out by trying, where reading files is not enough. Each has a
// deadline, and what may be ended by a signal is tried in a child.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "nccl/checks/node_facts.h"

namespace muster::launcher {

inline constexpr Duration kProbeDeadline = std::chrono::seconds(2);  ///< of each

/// Tries what matters on this machine: nothing without RDMA devices that can be used, and no
/// DNS if /etc/hosts has the own name. Blocks for at most kProbeDeadline each.
[[nodiscard]] nccl::ProbeResults run_probes(const nccl::NodeFacts& node, const Files& files,
                                            const Environment& environment,
                                            const ProcessSetup& setup);

/// `muster doctor --probe NAME`, in the child: returns its exit code. 0 = it worked; 64 = there is
/// no such probe.
int run_probe(const std::string& name);

}  // namespace muster::launcher
