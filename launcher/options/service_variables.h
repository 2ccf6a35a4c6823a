// What Kubernetes tells every pod of the Services in its namespace, by variables that may bear the
// names of ours. Pure.
#pragma once

#include <string_view>

#include "base/environment.h"

namespace muster::launcher {

/// Of a Service called muster-x there are MUSTER_X_SERVICE_HOST, MUSTER_X_SERVICE_PORT_HTTP,
/// MUSTER_X_PORT, MUSTER_X_PORT_80_TCP_ADDR and more.
/// Source: kubernetes.io, "Service", environment variables.
[[nodiscard]] bool is_of_service(std::string_view name, const Environment& environment);

/// Its value is the Service's, too ("tcp://10.96.0.7:29400"): nobody has set it to another one.
[[nodiscard]] bool is_set_by_service(std::string_view name, const Environment& environment);

}  // namespace muster::launcher
