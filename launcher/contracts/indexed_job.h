// Kubernetes' Indexed Job (batch/v1): pods JOB-INDEX, which know their index and neither the number
// of pods nor, unless a headless Service is their subdomain, each other. Facts: Kubernetes 1.34,
// pkg/controller/job/indexed_job_utils.go.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// The pod's place in its Job, which JobSet's pods have as well.
inline constexpr std::string_view kCompletionIndex = "JOB_COMPLETION_INDEX";

/// None: no pod of Kubernetes, or no index.
[[nodiscard]] std::optional<Contract> read_indexed_job(const PodFacts& pod);

}  // namespace muster::launcher
