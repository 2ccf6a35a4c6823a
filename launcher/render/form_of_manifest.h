// A form out of the manifest of `muster render -f`: what the reader understands of it (manifest)
// has its place in the form, and the rest of its pods stays as it is.
#pragma once

#include <string>

#include "base/result.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// `name`: of the job, "" = the manifest's own. What of the manifest has no place in a form is a
/// remark. kUsage: a field is wrong, by its path and value. kLimit: too large.
Result<JobForm> form_of_manifest(const std::string& text, const std::string& name);

/// Where MPI's keys are mounted. An operator mounts them in root's own folder for root alone, and
/// other kinds have none: then the form says no place, and what it said is told.
void settle_keys(JobForm& form, JobKind kind);

/// Sets the variables MASTER_ADDR and MASTER_PORT in pods whose words name them as $(MASTER_ADDR)
/// and $(MASTER_PORT): where a server of rank 0 can be reached, as a job of `kind`.
void add_addresses(JobForm& form, JobKind kind);

}  // namespace muster::launcher
