#include "launcher/local/network_namespace.h"

#include <fcntl.h>
#include <sched.h>

#include "base/check.h"

namespace muster::launcher {

namespace {

// Cannot fail: we were there a moment ago. If we stayed elsewhere, we would listen where nobody
// looks for us.
void go_home(int home) { MUSTER_CHECK(setns(home, CLONE_NEWNET) == 0); }

}  // namespace

Result<UniqueFd> own_namespace() {
  UniqueFd fd(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return os_error("open '/proc/self/ns/net'");
  return fd;
}

Result<UniqueFd> new_namespace(int home) {
  if (unshare(CLONE_NEWNET) != 0) return os_error("unshare CLONE_NEWNET");
  auto fresh = own_namespace();
  go_home(home);
  return fresh;
}

Status in_namespace(int home, int there, const std::function<Status()>& what) {
  if (setns(there, CLONE_NEWNET) != 0) return os_error("setns CLONE_NEWNET");
  Status done = what();
  go_home(home);
  return done;
}

}  // namespace muster::launcher
