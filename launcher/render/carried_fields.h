// Fields of a manifest that a form does not interpret, and other kinds have as well: one table says
// where. What has no place in the kind that is written is a remark.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"
#include "launcher/render/job_form.h"

namespace muster::launcher {

/// Into form.carried, and the paths of what has no place anywhere into form.left. kUsage: a field
/// is wrong, by its path and value.
Status read_carried(const Field& document, const Workload& workload, JobForm& form);

/// Into the spec of `job`, which is a document of `kind`. Then tells what is left.
void write_carried(JobForm& form, JobKind kind, nlohmann::json& job);

}  // namespace muster::launcher
