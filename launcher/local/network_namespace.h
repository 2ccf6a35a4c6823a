// Network namespaces without names. The kernel removes one when no process is in it and no
// descriptor of it is open any more, however these ended. Source: network_namespaces(7), setns(2).
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"

namespace muster::launcher {

/// The namespace in which this process is. kOs: no /proc here.
Result<UniqueFd> own_namespace();

/// A new namespace with nothing in it but a loopback link that is down. This process stays in
/// `home`. kOs: EPERM without CAP_SYS_ADMIN.
Result<UniqueFd> new_namespace(int home);

/// Calls `what` in the namespace `there` and comes back to `home`. Sockets that it opens stay in
/// `there`. kOs: not allowed; else what `what` returns.
Status in_namespace(int home, int there, const std::function<Status()>& what);

}  // namespace muster::launcher
