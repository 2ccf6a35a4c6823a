// --numa-binding: the CPUs of one worker, near its accelerator. Pure; the result goes into
// SpawnRequest::cpus, so no numactl is needed. CPUs only, no memory policy: pages come from the
// node that first touches them, and containers often forbid set_mempolicy.
#pragma once

#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/result.h"
#include "launcher/options/options.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/topology.h"

namespace muster::launcher {

/// What the decision depends on besides the rank. Borrowed for the call.
struct BindingInputs {
  const nccl::Topology& topology;
  /// As the workers count them: nccl/machine/visible_devices.h. Empty on a node without
  /// accelerators.
  const std::vector<nccl::Accelerator>& devices;
  const CpuSet& allowed;  ///< CPUs this container may use
};

/// `cpus` is never empty. `reason` is one line: "0-15,32-47: allowed CPUs of NUMA node 1 of NVIDIA
/// GPU 0000:9d:00.0".
struct Binding {
  CpuSet cpus;
  std::string reason;
};

/// The CPUs of the worker with `local_rank` (0 .. local_world_size - 1):
/// - node: the allowed CPUs of the accelerator's NUMA node;
/// - socket: those of all nodes on that node's socket;
/// - exclusive: an equal share of the physical cores of the node, whole cores, for each accelerator
///   of the node; the first ones get one core more when it does not divide;
/// - core-complex: one last-level cache group of the node, the largest first, wrapping around.
/// Source: torchrun --numa-binding (2.9 to 2.14), with worker i at accelerator i. Where torchrun
/// has no answer, or a bad one:
/// - more workers than accelerators: worker i is at accelerator i modulo their number, and shares
///   are counted by worker;
/// - no accelerators: the workers are spread over the nodes that have allowed CPUs in contiguous
///   blocks (4 workers on 2 nodes: 0,0,1,1) and count as the accelerators;
/// - an accelerator of unknown node: node 0 when it is the only one, else all workers are spread as
///   if there were no accelerators (torchrun would put all of them on node 0).
/// Errors, all kConfig: nothing is left in the allowed set, or fewer cores than shares; the text
/// names node, sets and numbers.
[[nodiscard]] Result<Binding> decide_binding(NumaBinding mode, const BindingInputs& inputs,
                                             int local_rank, int local_world_size);

}  // namespace muster::launcher
