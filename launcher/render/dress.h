// What every pod needs of Kubernetes so that Muster works well in it, whoever described the pod.
#pragma once

#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Adds to each pod what it does not say itself: labels, folders that can be written, what the
/// downward API tells, the time it has after SIGTERM, probes, a locked-down security context, the
/// job secret. A field that is there stays as it is.
void dress_pods(JobForm& form);

}  // namespace muster::launcher
