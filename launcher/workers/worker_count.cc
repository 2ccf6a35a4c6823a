#include "launcher/workers/worker_count.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "nccl/machine/sysfs.h"
#include "nccl/machine/visible_devices.h"

namespace muster::launcher {
namespace {

using nccl::Accelerator;
using nccl::AcceleratorKind;
using nccl::VisibleDevices;

WorkerCountDecision count_cpus(const CpuBudget& cpus) {
  size_t number = cpus.allowed.empty() ? cpus.online : cpus.allowed.size();
  std::vector<std::string> facts;
  if (cpus.quota) {
    number = std::min(number, static_cast<size_t>(std::floor(cpus.quota->cpus)));
    facts.push_back(
        fmt::format("cgroup quota {:.1f} CPUs ({})", cpus.quota->cpus, cpus.quota->source));
  }
  if (!cpus.allowed.empty()) {
    facts.push_back(fmt::format("{} allowed by affinity", cpus.allowed.size()));
  }
  facts.push_back(cpus.online > 0 ? fmt::format("{} on the host", cpus.online)
                                  : "number of CPUs of the host unknown");
  number = std::max<size_t>(number, 1);
  return {static_cast<int>(number), fmt::format("{}: {}", number, join(facts, ", "))};
}

// Cards first; the graphics of the CPU only when nothing else is there and it was asked for.
VisibleDevices visible_xpus(std::vector<Accelerator> all, const Environment& environment,
                            bool integrated_too) {
  const auto is_card = [](const Accelerator& device) {
    return device.kind == AcceleratorKind::kIntelXpu && !device.integrated;
  };
  if (!integrated_too || std::any_of(all.begin(), all.end(), is_card)) {
    std::erase_if(all, [](const Accelerator& device) { return device.integrated; });
  }
  return nccl::visible_devices(all, AcceleratorKind::kIntelXpu, environment);
}

WorkerCountDecision count_devices(const VisibleDevices& visible) {
  return {static_cast<int>(visible.devices.size()),
          fmt::format("{}: {}", visible.devices.size(), visible.reason)};
}

// The container runtime's variable decides nothing here, but it often explains an empty /dev.
std::string runtime_hint(const Environment& environment) {
  const auto value = environment.get("NVIDIA_VISIBLE_DEVICES");
  return value ? fmt::format("; NVIDIA_VISIBLE_DEVICES={}", quote_if_needed(clip_utf8(*value, 200)))
               : "";
}

struct Gpus {
  VisibleDevices nvidia;
  VisibleDevices amd;
  [[nodiscard]] const VisibleDevices& chosen() const {
    return nvidia.devices.empty() ? amd : nvidia;
  }
};

Gpus visible_gpus(const std::vector<Accelerator>& all, const Environment& environment) {
  return {nccl::visible_devices(all, AcceleratorKind::kNvidia, environment),
          nccl::visible_devices(all, AcceleratorKind::kAmd, environment)};
}

Result<WorkerCountDecision> count_gpus(const Gpus& gpus, const Environment& environment) {
  if (!gpus.chosen().devices.empty()) return count_devices(gpus.chosen());
  return Error{Code::kConfig, 0,
               fmt::format("--nproc-per-node gpu: no usable GPU in this container: {}; {}{} "
                           "(looked at /proc/driver/nvidia/gpus, /dev/nvidia*, "
                           "/sys/class/kfd/kfd/topology/nodes, /dev/kfd, /dev/dri)",
                           gpus.nvidia.reason, gpus.amd.reason, runtime_hint(environment))};
}

Result<WorkerCountDecision> count_xpus(const VisibleDevices& xpus) {
  if (!xpus.devices.empty()) return count_devices(xpus);
  return Error{Code::kConfig, 0,
               fmt::format("--nproc-per-node xpu: no usable XPU in this container: {} (looked at "
                           "/sys/bus/pci/drivers/i915, /sys/bus/pci/drivers/xe, /dev/dri)",
                           xpus.reason)};
}

WorkerCountDecision count_automatically(const CpuBudget& cpus,
                                        const std::vector<Accelerator>& accelerators,
                                        const Environment& environment) {
  const Gpus gpus = visible_gpus(accelerators, environment);
  if (!gpus.chosen().devices.empty()) return count_devices(gpus.chosen());
  const VisibleDevices xpus = visible_xpus(accelerators, environment, false);
  if (!xpus.devices.empty()) return count_devices(xpus);
  WorkerCountDecision decision = count_cpus(cpus);
  decision.reason +=
      fmt::format("; no accelerator: {}, {}, {}", gpus.nvidia.reason, gpus.amd.reason, xpus.reason);
  return decision;
}

}  // namespace

CpuBudget read_cpu_budget(const Files& files, CpuSet allowed) {
  const auto online = nccl::read_cpu_list(files, "/sys/devices/system/cpu/online");
  return {std::move(allowed), nccl::read_cpu_quota(files), online ? online->size() : 0};
}

Result<WorkerCountDecision> decide_worker_count(const WorkerCount& asked, const CpuBudget& cpus,
                                                const std::vector<Accelerator>& accelerators,
                                                const Environment& environment) {
  switch (asked.kind) {
    case WorkerCountKind::kNumber:
      return WorkerCountDecision{asked.number, fmt::format("{}: as asked", asked.number)};
    case WorkerCountKind::kAuto:
      return count_automatically(cpus, accelerators, environment);
    case WorkerCountKind::kCpu:
      return count_cpus(cpus);
    case WorkerCountKind::kGpu:
      return count_gpus(visible_gpus(accelerators, environment), environment);
    case WorkerCountKind::kXpu:
      return count_xpus(visible_xpus(accelerators, environment, true));
  }
  return Error{Code::kInternal, 0, "unknown kind of worker count"};
}

}  // namespace muster::launcher
