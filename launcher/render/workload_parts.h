// What the writers of several kinds share: Muster's settings in the pods, the rules by which a
// controller tries again, and pods as part of a JobSet.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// How often a controller tries again if nobody says it: as a Kubernetes Job.
inline constexpr int kBackoffLimit = 6;

/// For kinds that say one number of attempts: what pods' own Jobs say counts if the job says none.
/// Other numbers are left.
int backoff_limit(JobForm& form);

/// In each pod of the job, unless the pod has it. Nothing for an empty value.
void set_everywhere(JobForm& form, std::string_view name, std::string_view value);
/// --framework, --mpi, --max-restarts; those of MPI also their role, where a pod is the launcher.
void set_job(JobForm& form);
/// --nnodes and --nproc-per-node, where the controller says neither.
void set_sizes(JobForm& form);

/// The nodes meet with a secret that all of them mount. Nothing for a job of one pod.
void mount_job_secret(JobForm& form);
/// Files of a Secret that a controller mounts are root's: gives the pods a group that may read
/// them.
void let_group_read_secrets(JobForm& form);
/// The port at which nodes meet, for people and tools: nothing opens or closes by it.
void declare_job_port(JobForm& form);

/// The first of `pods` starts the program on the others.
[[nodiscard]] bool has_launcher(const JobForm& form);
/// It has ranks itself, or there is none.
[[nodiscard]] bool is_elastic(const JobForm& form);
[[nodiscard]] int pod_count(const JobForm& form);
/// Pods without which the job does not begin, a launcher without ranks among them.
[[nodiscard]] int least_pods(const JobForm& form);
/// Pods with ranks.
[[nodiscard]] int ranked_pods(const JobForm& form);
/// Of a node, for controllers that want a number: as the form says it, else the GPUs of its limit,
/// else 1.
[[nodiscard]] int workers_as_number(const JobForm& form);

/// A JobSpec whose pods are those of `pods`, which are moved. A pod whose policy is OnFailure keeps
/// that; any other is never started again in its place, and its exit code decides.
nlohmann::json job_spec(PodForm& pods, int backoff_limit);
/// A JobSetSpec: one replicatedJob for each kind of pods, which are moved out of the form.
nlohmann::json jobset_spec(JobForm& form);

/// kUsage: "--to KIND: WHAT; --to OTHERS can hold it".
[[nodiscard]] Error cannot_hold(std::string_view kind, std::string_view what,
                                std::string_view others);
/// Pods that are all alike become one PodForm. False: there are several kinds.
bool merge_alike(JobForm& form);

}  // namespace muster::launcher
