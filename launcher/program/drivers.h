// The one place that knows all drivers (frameworks/driver.h).
#pragma once

#include <memory>

#include "launcher/frameworks/driver.h"

namespace muster::launcher {

/// The driver of a job with these options. Both are borrowed for its life. `contract`: of the
/// controller that made this pod; null = none.
[[nodiscard]] std::unique_ptr<FrameworkDriver> make_driver(const Options& options,
                                                           const Contract* contract);

}  // namespace muster::launcher
