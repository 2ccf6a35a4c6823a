// A pod's template that somebody else wrote: what dress.h and the writers look at is of the type
// that Kubernetes wants.
#pragma once

#include "base/result.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Fields that are null are taken out: to Kubernetes they are not there. kUsage: the path within
/// the pod's template, and its type.
Status check_pod(PodForm& pods);

}  // namespace muster::launcher
