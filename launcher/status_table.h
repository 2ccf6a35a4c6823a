// The status of a job as a table for people. Pure; the JSON is described in status_answer.h.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::launcher {

/// Lines for a terminal, each with '\n': what the job does, why, and one line per node in the order
/// of their ranks, those without one last. An agent that does not lead has no nodes to show. The
/// text comes from another program: what is missing or of another type is left out, and what a
/// terminal would obey is replaced. kProtocol, kLimit: no JSON object.
Result<std::string> status_table(std::string_view status);

}  // namespace muster::launcher
