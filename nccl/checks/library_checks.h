// Checks of what the libraries of the image say (library_facts.h): nothing without muster-probe.
// Pure.
#pragma once

#include <optional>
#include <string_view>

#include "nccl/checks/check.h"

namespace muster::nccl {

/// GPUs that NVML misses or cannot use, besides what check_gpu_lost() finds in files.
[[nodiscard]] Verdicts find_unusable_gpus(const CheckQuestion& question);
/// GPUs of NVML in MIG mode. None: NVML was not asked.
[[nodiscard]] std::optional<size_t> count_mig_gpus(const CheckQuestion& question);
/// Devices that need a provider of libfabric, which offers none.
[[nodiscard]] Verdicts find_missing_providers(const CheckQuestion& question);

[[nodiscard]] Verdicts check_ecc_xid(const CheckQuestion& question);
[[nodiscard]] Verdicts check_fabric_state(const CheckQuestion& question);
[[nodiscard]] Verdicts check_gpu_busy(const CheckQuestion& question);
[[nodiscard]] Verdicts check_throttle(const CheckQuestion& question);

/// What the plan found about versions of NCCL that may be here is an error if NCCL is one of them.
void judge_by_version(const CheckQuestion& question, Finding& finding);

}  // namespace muster::nccl
