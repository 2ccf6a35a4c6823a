// Manifests of Kubeflow: PyTorchJob of training-operator 1.9, MPIJob of mpi-operator 0.8, TrainJob
// of Trainer 2.3.
#pragma once

#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"

namespace muster::launcher {

/// Errors are kUsage, with the path.
Status read_pytorch_job(const Field& document, Workload& workload);
Status read_mpi_job(const Field& document, Workload& workload);
/// Its runtime is in a cluster: what counts is spec.trainer.
Status read_train_job(const Field& document, Workload& workload);

}  // namespace muster::launcher
