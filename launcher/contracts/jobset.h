// JobSet (jobset.x-k8s.io/v1alpha2): pods SET-RJOB-JOB-POD in the subdomain SET. It sets no
// variables; a downward-API volume may tell its labels. Facts: JobSet 0.12, pkg/controllers and
// api/jobset/v1alpha2/jobset_types.go.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// The coordinator is rank 0, then pods count by job and index. A rank is said where labels make it
/// certain; else the order of names, which is the same for one replicatedJob, ranks the nodes.
/// None: no pod of Kubernetes, no completion index, or neither the labels nor a name in the
/// subdomain that begins it.
[[nodiscard]] std::optional<Contract> read_jobset(const PodFacts& pod);

}  // namespace muster::launcher
