// JobView as the JSON of the dashboard's API, whose contract is docs/dashboard.md. Pure.
#pragma once

#include <string>

#include "launcher/dashboard/job_view.h"

namespace muster::launcher {

/// For the list of jobs; a JSON object.
[[nodiscard]] std::string summary_json(const StoredJob& job, const JobView& view);
/// The same with nodes, restarts, failure and moments.
[[nodiscard]] std::string detail_json(const StoredJob& job, const JobView& view);

}  // namespace muster::launcher
