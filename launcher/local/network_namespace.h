// Network namespaces without names: one is gone when no process is in it and no descriptor of it is
// open any more, however these ended. Source: network_namespaces(7), setns(2).
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"

namespace muster::launcher {

/// The one in which this process is. kOs: no /proc here.
Result<UniqueFd> own_namespace();

/// A new one with nothing in it but a loopback link that is down; this process stays in `home`.
/// kOs: EPERM without CAP_SYS_ADMIN.
Result<UniqueFd> new_namespace(int home);

/// Does it in `there` and comes back to `home`. What was opened there stays there: sockets belong
/// to a namespace. kOs: not allowed; else what `what` returns.
Status in_namespace(int home, int there, const std::function<Status()>& what);

}  // namespace muster::launcher
