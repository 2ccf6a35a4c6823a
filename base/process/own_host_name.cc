#include "base/process/own_host_name.h"

#include <limits.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace muster {

Status take_host_name(const std::string& name) {
  if (unshare(CLONE_NEWUTS) != 0) return os_error("unshare the host name");
  const size_t bytes = std::min<size_t>(name.size(), HOST_NAME_MAX);
  if (sethostname(name.data(), bytes) != 0) return os_error("sethostname '" + name + "'");
  return {};
}

}  // namespace muster
