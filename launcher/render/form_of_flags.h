// A form out of the flags of `muster render`.
#pragma once

#include "base/result.h"
#include "launcher/render/job_form.h"
#include "launcher/render/render_request.h"

namespace muster::launcher {

/// kUsage: a flag that is needed is not there, or two contradict each other.
Result<JobForm> form_of_flags(const RenderRequest& request);

}  // namespace muster::launcher
