// What the manifests of all kinds have in common: a pod's template, of which the first container
// trains.
#pragma once

#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"

namespace muster::launcher {

/// As many pods as anybody asks for.
inline constexpr int kMaxPods = 100'000;

/// The container that trains: of `pod`, which is a PodTemplateSpec, that with the name that
/// controllers look for, else the first.
Result<Field> training_container(const Field& pod);

/// Reads a container's command, arguments, variables and folder. $(NAME) is Kubernetes': a variable
/// of the container; others stay as they are. Of $(MASTER_ADDR) and $(MASTER_PORT) the words keep
/// the name.
Result<Replica> read_container(const Field& container, std::string name, int pods);
/// That of the container that trains.
Result<Replica> read_pod(const Field& pod, std::string name, int pods);

/// Adds --nproc-per-node for `count`, a field that is auto, cpu, gpu or a number. auto is the GPUs
/// of the limit in `resources` (or of the request), else its whole CPUs. A laptop has not these
/// GPUs, so that gpu is their number. kUsage: gpu, and none are asked for.
/// Source: Trainer 2.3, torch plugin.
Status add_worker_count(Workload& workload, const Field& count, const Field& resources);
/// `pod`: whose container's resources count.
Status add_pods_workers(Workload& workload, const Field& count, const Field& pod);

/// Adds --mpi for `implementation`: OpenMPI, Intel or MPICH.
Status add_mpi(Workload& workload, const Field& implementation);

}  // namespace muster::launcher
