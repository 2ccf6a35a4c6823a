// Checks of what processes need: descriptors, stack, their number, processors. Pure.
#pragma once

#include "nccl/checks/check.h"

namespace muster::nccl {

/// Of descriptors: sockets, events and files of NCCL for each rank that one talks to.
inline constexpr uint64_t kDescriptorsPerRank = 64;
inline constexpr uint64_t kFewDescriptors = 4096;
/// NCCL, CUDA and PyTorch start so many threads in a worker with a GPU.
inline constexpr uint64_t kThreadsPerWorker = 60;

[[nodiscard]] Verdicts check_fds(const CheckQuestion& question);
[[nodiscard]] Verdicts check_stack(const CheckQuestion& question);
[[nodiscard]] Verdicts check_nproc(const CheckQuestion& question);
[[nodiscard]] Verdicts check_pids(const CheckQuestion& question);
[[nodiscard]] Verdicts check_cpu_quota(const CheckQuestion& question);
[[nodiscard]] Verdicts check_numa_cpuset(const CheckQuestion& question);

}  // namespace muster::nccl
