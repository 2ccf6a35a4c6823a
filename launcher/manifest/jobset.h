// Manifests that are a JobSet or have one inside: OME's TrainingRuntime and ClusterTrainingRuntime,
// JobSet itself, and an Indexed Job, which is one of its parts. Facts: OME, first public types
// (2025-05), api/v1beta1; JobSet 0.12, api/jobset/v1alpha2.
#pragma once

#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"

namespace muster::launcher {

/// Errors are kUsage, with the path: a wrong value, sizes that contradict each other, or no pods.
Status read_training_runtime(const Field& document, Workload& workload);
Status read_jobset(const Field& document, Workload& workload);
Status read_indexed_job(const Field& document, Workload& workload);

}  // namespace muster::launcher
