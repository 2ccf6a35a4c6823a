// MUSTER_ variables that nobody reads, which are mostly flags' variables that were typed wrongly.
// Pure. For command_line.cc; the flags' own variables are read by flags.h.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"

namespace muster::launcher {

/// One line for each that is no flag's variable, not documented elsewhere, not set by Muster itself
/// for what it starts, or by Kubernetes for a Service called muster…. With the name
/// that was likely meant, and without any value.
[[nodiscard]] std::vector<std::string> unread_variables(const Environment& environment);

}  // namespace muster::launcher
