// Checks of GPUs, of PCI and of what is between a GPU and a network card. Pure.
#pragma once

#include "nccl/checks/check.h"

namespace muster::nccl {

[[nodiscard]] Verdicts check_pcie_degraded(const CheckQuestion& question);
[[nodiscard]] Verdicts check_numa_unknown(const CheckQuestion& question);
[[nodiscard]] Verdicts check_acs_iommu(const CheckQuestion& question);
[[nodiscard]] Verdicts check_gdr_path(const CheckQuestion& question);
[[nodiscard]] Verdicts check_gpu_lost(const CheckQuestion& question);
[[nodiscard]] Verdicts check_mig_mode(const CheckQuestion& question);

}  // namespace muster::nccl
