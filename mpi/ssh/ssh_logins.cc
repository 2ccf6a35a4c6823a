#include "mpi/ssh/ssh_logins.h"

#include <algorithm>

#include "base/check.h"

namespace muster::mpi {

void SshLogins::came(pid_t pid, const std::string& host) {
  callers_.push_back({pid, host});
  ++count_of_host_[host];
}

void SshLogins::gone(pid_t pid) {
  const auto found = std::find_if(callers_.begin(), callers_.end(),
                                  [pid](const Caller& caller) { return caller.pid == pid; });
  if (found == callers_.end()) return;
  const auto count = count_of_host_.find(found->host);
  if (--count->second == 0) count_of_host_.erase(count);
  callers_.erase(found);
}

const SshLogins::Caller& SshLogins::first_to_go() const {
  MUSTER_CHECK(!callers_.empty());
  // Of equals it gives the first one.
  return *std::max_element(callers_.begin(), callers_.end(),
                           [this](const Caller& left, const Caller& right) {
                             return count_of_host_.at(left.host) < count_of_host_.at(right.host);
                           });
}

}  // namespace muster::mpi
