// Manifests that are a JobSet or have one inside: the TrainingRuntime and ClusterTrainingRuntime of
// OME and of Kubeflow's Trainer, JobSet itself, and an Indexed Job, which is one of its parts.
// Facts: OME, first public types (2025-05), api/v1beta1; Trainer 2.3, api/trainer/v1alpha1; JobSet
// 0.12, api/jobset/v1alpha2.
#pragma once

#include <optional>

#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"

namespace muster::launcher {

/// Errors are kUsage, with the path: a wrong value, sizes that contradict each other, or no pods.
Status read_training_runtime(const Field& document, Workload& workload);
Status read_jobset(const Field& document, Workload& workload);
Status read_indexed_job(const Field& document, Workload& workload);
/// A Job whose container says --framework plain: its pods are runs of one program, each alone.
/// None: it is another document.
Result<std::optional<Workload>> read_runs(const Field& document);

}  // namespace muster::launcher
