// The writers, one for each kind of workload: a form becomes documents. What pods need of Muster is
// in the form already (dress.h).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/result.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

using Documents = std::vector<nlohmann::json>;

/// In the order in which they are applied; the workload is the last. The pods are moved out of the
/// form, and remarks are added to it. kUsage: the kind cannot hold such a job, with the flag or
/// field and why.
Result<Documents> write_jobset(JobForm& form);
Result<Documents> write_job(JobForm& form);
Result<Documents> write_mpi_job(JobForm& form);
Result<Documents> write_pytorch_job(JobForm& form);
Result<Documents> write_train_job(JobForm& form);

}  // namespace muster::launcher
