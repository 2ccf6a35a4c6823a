// Hostfiles: which hosts an MPI job may use and how many ranks each takes, in the formats of Open
// MPI and of Hydra (MPICH, Intel MPI). Read and written here; no name is resolved, no file opened.
// Facts: tried on Open MPI 4.1.4, 5.0.7, 5.0.11, MPICH 4.0.2, 4.2.1, 5.0.2 and Intel MPI 2021.18.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mpi/launch/implementation.h"

namespace muster::mpi {

inline constexpr size_t kMaxHostfileHosts = 16384;     ///< the largest job that is measured
inline constexpr size_t kMaxHostfileBytes = 4 << 20;   ///< that many hosts with long names
inline constexpr size_t kMaxHostfileLineBytes = 1024;  ///< a name of 253 bytes and its keywords
inline constexpr size_t kMaxHostfileNameBytes = 253;   ///< RFC 1035, without the trailing dot
inline constexpr int kMaxHostSlots = 65536;
/// Of a host whose line names no count: Open MPI and Intel MPI then take the number of cores seen
/// there, which is wrong in a container. So reading gives this, and writing always says the count.
inline constexpr int kDefaultSlots = 1;

/// One host of the job.
struct HostSlots {
  std::string host = {};      ///< name or IPv4 address; never an IPv6 address when written
  int slots = kDefaultSlots;  ///< 0 = listed, but takes no rank
  std::string user = {};      ///< login name before '@' (or Open MPI's `user=`); "" = none
  int port = 0;               ///< Open MPI's `port=`; 0 = none
  friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// The file for `implementation`, one line per host, in the order given (ranks follow it). Open
/// MPI: "name slots=N". Hydra: "name:N".
/// kConfig, naming the host: no hosts at all (an empty file runs everything on the launcher's node,
/// or crashes it), a name that some launcher would read otherwise (not of [A-Za-z0-9._-], which
/// excludes IPv6 addresses, or beginning with '-', which the remote shell would take for an
/// option), a name twice, or two names with the same first label (Open MPI 5 takes them for one
/// host). kLimit: more than kMaxHostfileHosts, or slots out of range.
Result<std::string> write_hostfile(Implementation implementation,
                                   const std::vector<HostSlots>& hosts);

/// Reads one. Comments and blank lines are nothing; `max_slots` is checked and not used; a host
/// that is repeated adds up its slots (Open MPI without `slots=`, Hydra).
/// Open MPI: words after the name are NAME=VALUE, spaces round '=' allowed; comments `#`, `//` and
/// `/* */`. Hydra: "[user@]name[:N]"; comment `#`.
/// Errors begin with "line N: ". kConfig: what the launcher would refuse or take for something
/// else, also an IPv6 address for Hydra, relative forms (+n3) and a file without hosts. kLimit.
Result<std::vector<HostSlots>> parse_hostfile(Implementation implementation, std::string_view text);

}  // namespace muster::mpi
