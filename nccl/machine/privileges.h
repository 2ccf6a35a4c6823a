// Privileges: the user and the capabilities of this process, and whether they count for the kernel
// as a whole.
#pragma once

#include <cstdint>
#include <optional>

#include "base/files.h"

namespace muster::nccl {

inline constexpr int kIpcLock = 14;  ///< CAP_IPC_LOCK (linux/capability.h)

/// What cannot be read is none.
struct Privileges {
  std::optional<uint64_t> effective;  ///< bits of CapEff
  std::optional<uint64_t> bounding;   ///< of CapBnd: what a pod's specification allows at most
  std::optional<int64_t> user;        ///< effective user id
  /// False: user ids are mapped, so capabilities do not count for limits of the whole machine.
  std::optional<bool> is_initial_user_namespace;
};

/// From /proc/self/status and /proc/self/uid_map. Source: proc_pid_status(5), user_namespaces(7).
[[nodiscard]] Privileges read_privileges(const Files& files);

/// Whether the limit on locked memory does not count: CAP_IPC_LOCK is effective in the initial user
/// namespace. What is unknown counts as not so. Source: ib_umem_get() (Linux 6.x).
[[nodiscard]] bool may_lock_all(const Privileges& privileges);
/// Whether the bit is set; none = unknown.
[[nodiscard]] bool has_capability(const std::optional<uint64_t>& set, int capability);

}  // namespace muster::nccl
