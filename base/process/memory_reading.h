// Whether processes may read each other's memory, as MPI libraries do for large messages between
// ranks of a node (CMA). Seccomp profiles of containers often refuse it.
#pragma once

namespace muster {

/// process_vm_readv(2), tried on this process itself.
[[nodiscard]] bool can_read_memory();

}  // namespace muster
