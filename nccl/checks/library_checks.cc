#include "nccl/checks/library_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>

#include "base/text.h"

namespace muster::nccl {
namespace {

const std::optional<NvmlReport>& nvml_of(const CheckQuestion& question) {
  return question.probes.libraries.nvml;
}

std::span<const GpuReport> gpus_of(const CheckQuestion& question) {
  return nvml_of(question) ? std::span(nvml_of(question)->gpus) : std::span<const GpuReport>();
}

bool has_nvidia_gpus(const CheckQuestion& question) {
  return question.gpus > 0 && accelerator_kind(question.machine()) == AcceleratorKind::kNvidia;
}

// Findings that concern some versions of NCCL only (NVIDIA/nccl issues 1573 and 1427; docs
// of 2.21).
struct VersionRule {
  std::string_view id;
  LibraryVersion first;
  LibraryVersion fixed;
};
constexpr VersionRule kVersionRules[] = {{"gid_hole_abort", {2, 21, 0}, {2, 26, 0}},
                                         {"gid_varies", {0, 0, 0}, {2, 21, 0}}};

// Libfabric's provider for a device, where NCCL comes to it only through libfabric.
std::string_view provider_of(const RdmaDevice& device) { return device.is_efa() ? "efa" : ""; }

bool offers(const LibfabricReport& libfabric, std::string_view provider) {
  return std::ranges::any_of(libfabric.providers, [provider](const std::string& offered) {
    return offered == provider || offered.starts_with(std::string(provider) + ";");
  });
}

}  // namespace

Verdicts find_unusable_gpus(const CheckQuestion& question) {
  const auto& nvml = nvml_of(question);
  // An image for GPUs on a node without one has the library, too.
  if (!nvml || (nvml->gpus.empty() && !has_nvidia_gpus(question))) return {};
  const std::string remedy = "look for Xid in the kernel log, reset the GPU or reboot the node";
  if (!nvml->problem.empty()) {
    return {{Severity::kError, "NVML does not start, and so CUDA will not: " + nvml->problem,
             "compare the driver of the node with the libraries that its runtime mounts"}};
  }
  Verdicts verdicts;
  for (const GpuReport& gpu : nvml->gpus) {
    if (gpu.problem.empty()) continue;
    verdicts.push_back({Severity::kError,
                        fmt::format("{} cannot be used: {}", name_of(gpu), gpu.problem), remedy});
  }
  for (const Accelerator& accelerator : usable_accelerators(question.machine())) {
    const bool is_told = std::ranges::any_of(nvml->gpus, [&accelerator](const GpuReport& gpu) {
      return gpu.pci.empty() || gpu.pci == accelerator.pci_address;
    });
    if (is_told || accelerator.pci_address.empty()) continue;
    verdicts.push_back({Severity::kError,
                        fmt::format("NVML knows {} and not the one at {} ({})",
                                    counted(nvml->gpus.size(), "GPU", "GPUs"),
                                    accelerator.pci_address, accelerator.device_node),
                        remedy});
  }
  return verdicts;
}

std::optional<size_t> count_mig_gpus(const CheckQuestion& question) {
  const auto gpus = gpus_of(question);
  const auto is_told = [](const GpuReport& gpu) { return gpu.in_mig_mode.has_value(); };
  if (std::ranges::none_of(gpus, is_told)) return std::nullopt;
  return std::ranges::count(gpus, std::optional(true), &GpuReport::in_mig_mode);
}

Verdicts find_missing_providers(const CheckQuestion& question) {
  const auto& libfabric = question.probes.libraries.libfabric;
  if (!libfabric) return {};
  for (const RdmaDevice* device : ready_rdma_devices(question.machine())) {
    const std::string_view provider = provider_of(*device);
    if (provider.empty() || offers(*libfabric, provider)) continue;
    // Without GPUs TCP will do.
    return {{question.gpus > 0 ? Severity::kError : Severity::kInfo,
             fmt::format("{} is here, and libfabric {} ({}) offers no provider {}: NCCL's plugin "
                         "cannot use it",
                         device->name, libfabric->version, libfabric->path, provider),
             "install the maker's libfabric, and let LD_LIBRARY_PATH name it first"}};
  }
  return {};
}

Verdicts check_ecc_xid(const CheckQuestion& question) {
  Verdicts verdicts;
  for (const GpuReport& gpu : gpus_of(question)) {
    if (gpu.remap_failed) {
      verdicts.push_back({Severity::kError,
                          name_of(gpu) + ": bad rows of its memory could not be replaced",
                          "take the node out, and replace the GPU"});
    } else if (gpu.remap_pending) {
      verdicts.push_back({Severity::kError,
                          name_of(gpu) + ": bad rows of its memory wait to be replaced",
                          "reset the GPU while it is idle (nvidia-smi --gpu-reset), or reboot"});
    } else if (gpu.uncorrected_errors > 0) {
      verdicts.push_back(
          {Severity::kWarning,
           fmt::format("{}: {} of its memory since the driver was loaded", name_of(gpu),
                       counted(gpu.uncorrected_errors, "uncorrected error", "uncorrected errors")),
           "reset the GPU; replace it if they come again"});
    }
  }
  return verdicts;
}

Verdicts check_fabric_state(const CheckQuestion& question) {
  Verdicts verdicts;
  for (const GpuReport& gpu : gpus_of(question)) {
    const bool has_joined = gpu.fabric_state == "completed";
    if (gpu.fabric_state.empty() || gpu.fabric_state == "not_supported") continue;
    if (!has_joined || gpu.fabric_status != 0) {
      const std::string state =
          has_joined ? fmt::format("failed with {}", gpu.fabric_status) : gpu.fabric_state;
      verdicts.push_back({Severity::kError,
                          fmt::format("{}: it has not joined its NVLink fabric ({}): CUDA may not "
                                      "start, and NCCL has no NVLS",
                                      name_of(gpu), state),
                          "look at the fabric manager of the node"});
    } else if (gpu.has_degraded_bandwidth) {
      verdicts.push_back({Severity::kWarning,
                          name_of(gpu) + ": the bandwidth of its NVLink is degraded",
                          "look at its NVLinks (nvidia-smi nvlink --status)"});
    }
  }
  return verdicts;
}

Verdicts check_gpu_busy(const CheckQuestion& question) {
  Verdicts verdicts;
  for (const GpuReport& gpu : gpus_of(question)) {
    if (gpu.processes <= 0) continue;
    verdicts.push_back({Severity::kWarning,
                        fmt::format("{}: {} on it already", name_of(gpu),
                                    counted(static_cast<size_t>(gpu.processes), "process computes",
                                            "processes compute")),
                        "end what an earlier job has left"});
  }
  return verdicts;
}

Verdicts check_throttle(const CheckQuestion& question) {
  Verdicts verdicts;
  for (const GpuReport& gpu : gpus_of(question)) {
    std::vector<std::string> reasons;
    // A limit of its power is how a busy GPU works.
    std::ranges::copy_if(gpu.slowdowns, std::back_inserter(reasons),
                         [](const std::string& reason) { return reason != "sw_power_cap"; });
    if (reasons.empty()) continue;
    verdicts.push_back({Severity::kWarning,
                        fmt::format("{} is slowed down: {}", name_of(gpu), join(reasons, ", ")),
                        "look at its cooling and its power supply"});
  }
  return verdicts;
}

void judge_by_version(const CheckQuestion& question, Finding& finding) {
  const auto& nccl = question.probes.libraries.nccl;
  const auto version = nccl ? parse_version(nccl->version) : std::nullopt;
  if (!version) return;
  for (const VersionRule& rule : kVersionRules) {
    if (finding.id != rule.id || *version < rule.first || *version >= rule.fixed) continue;
    finding.severity = Severity::kError;
    finding.what += fmt::format(", and NCCL {} is here ({})", nccl->version, nccl->path);
  }
}

}  // namespace muster::nccl
