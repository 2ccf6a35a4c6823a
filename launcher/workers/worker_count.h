// How many workers this node starts: --nproc-per-node as a number, with the reason in figures.
// Deciding is pure; read_cpu_budget() is the look at the machine that precedes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.h"
#include "base/environment.h"
#include "base/files.h"
#include "base/result.h"
#include "launcher/options/options.h"
#include "nccl/machine/accelerators.h"
#include "nccl/machine/cpu_quota.h"

namespace muster::launcher {

/// What limits this container's use of the host's CPUs.
struct CpuBudget {
  CpuSet allowed;  ///< affinity mask, which holds the cpuset of the cgroup too; empty = unknown
  std::optional<nccl::CpuQuota> quota;  ///< CPU time; none = unlimited
  size_t online = 0;                    ///< CPUs of the host; 0 = unknown
};

/// `allowed` comes from base/cpu_set.h allowed_cpus(). Never fails: what cannot be read is unknown.
[[nodiscard]] CpuBudget read_cpu_budget(const Files& files, CpuSet allowed);

/// `number` >= 1. `reason` is one line for the log and --explain: "4: cgroup quota 4.0 CPUs
/// (/sys/fs/cgroup/cpu.max), 16 allowed by affinity, 64 on the host".
struct WorkerCountDecision {
  int number = 1;
  std::string reason;
};

/// cpu: the smaller of the affinity mask and the quota rounded down, at least 1. Down, because one
/// worker more than there is CPU time for is throttled in every period, and the others wait for it
/// in every collective. torchrun counts the host's CPUs or the mask and ignores the quota.
/// gpu: the GPUs a worker would see (nccl/machine/visible_devices.h), NVIDIA's or else AMD's.
/// xpu: Intel's; graphics inside the CPU only where there is no card.
/// auto: gpu, else xpu cards, else cpu.
/// Errors: kConfig for gpu and xpu without one; the text tells what was looked at and found.
[[nodiscard]] Result<WorkerCountDecision> decide_worker_count(
    const WorkerCount& asked, const CpuBudget& cpus,
    const std::vector<nccl::Accelerator>& accelerators, const Environment& environment);

}  // namespace muster::launcher
