// The names that a controller makes of a job's name.
#pragma once

#include "base/result.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Names of hosts and Services are labels of the DNS (RFC 1035): 63 letters at most. kUsage: the
/// job's name, and how long it may be as a job of this kind.
Status check_name(const JobForm& form, JobKind kind);

}  // namespace muster::launcher
