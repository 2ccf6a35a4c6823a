// SshLogins: the callers of an SSH port who have not logged in, as far as is known, and who of them
// goes when there are too many. Pure.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace muster::mpi {

class SshLogins {
 public:
  struct Caller {
    pid_t pid = 0;  ///< of its sshd
    std::string host;
  };

  void came(pid_t pid, const std::string& host);
  /// It logged in, was closed or has ended. Who is not here is no error.
  void gone(pid_t pid);
  [[nodiscard]] size_t size() const { return callers_.size(); }
  [[nodiscard]] const std::vector<Caller>& all() const { return callers_; }  ///< the oldest first
  /// The oldest one of the host that has most of them, and of several such hosts the oldest of all:
  /// whoever holds many connections loses their own, and nobody else's. There must be one. O(n).
  [[nodiscard]] const Caller& first_to_go() const;

 private:
  std::vector<Caller> callers_;
  std::map<std::string, size_t> count_of_host_;
};

}  // namespace muster::mpi
