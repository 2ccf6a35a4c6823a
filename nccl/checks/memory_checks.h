// Checks of memory: what may be locked, /dev/shm, huge pages, the limit of the container. Pure.
#pragma once

#include "nccl/checks/check.h"

namespace muster::nccl {

/// RDMA libraries register a few hundred MiB for each worker; the real probe locks so much.
inline constexpr uint64_t kProbedLockBytes = 256ULL << 20;
/// Less than this is too little for any job over RDMA.
inline constexpr uint64_t kEnoughLockedBytes = 1ULL << 30;
/// Of /dev/shm for several workers: NCCL takes some 10 MB for each pair, data loaders the rest.
inline constexpr uint64_t kLeastSharedBytes = 256ULL << 20;
inline constexpr uint64_t kEnoughSharedBytes = 1ULL << 30;
inline constexpr uint64_t kLeastFreeSharedBytes = 64ULL << 20;
/// Of the container's memory for one worker.
inline constexpr uint64_t kLeastWorkerBytes = 1ULL << 30;

[[nodiscard]] Verdicts check_memlock(const CheckQuestion& question);
[[nodiscard]] Verdicts check_ipc_lock_ineffective(const CheckQuestion& question);
[[nodiscard]] Verdicts check_shm_size(const CheckQuestion& question);
[[nodiscard]] Verdicts check_hugepages(const CheckQuestion& question);
[[nodiscard]] Verdicts check_mem_limit(const CheckQuestion& question);

}  // namespace muster::nccl
