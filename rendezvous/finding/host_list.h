// Host lists: what the user or the controller says about where the other nodes are, as candidates.
// Pure but for reading one file; nothing is resolved or dialled here
// (rendezvous/finding/discovery).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "rendezvous/messages/candidate.h"

namespace muster::rendezvous {

inline constexpr size_t kMaxHosts = 16384;            ///< largest job that is measured
inline constexpr size_t kMaxHostNameBytes = 253;      ///< RFC 1035, without the trailing dot
inline constexpr size_t kMaxHostLineBytes = 1024;     ///< of a host file
inline constexpr size_t kMaxHostFileBytes = 4 << 20;  ///< kMaxHosts long lines
inline constexpr int kMaxSlots = 65536;
/// Of a list of all nodes these may lead, the first ones: enough to survive two deaths, few enough
/// to ask.
inline constexpr size_t kLeadersOfHosts = 3;

/// What the texts below may leave out.
struct HostListDefaults {
  uint16_t port = 29400;
  int nodes = 0;  ///< size of the job, for "%d"; 0 = not known
};

/// --rdzv-endpoint, --hosts: entries with commas between them. An entry is `host`, `host:port`,
/// `[v6]`, `[v6]:port`, a bare IPv6 address, `dns:name[:port]`, or a host with one pattern in it:
/// `worker-[0-3,7].svc` (ranges, zeros kept: [00-15]) or `worker-%d.svc` (0 .. nodes - 1).
/// In the order of the text. kUsage: names the entry and what is wrong with it, also when a host
/// with the same port comes twice; kLimit: more than kMaxHosts.
/// Forms of one endpoint: torchrun 2.x, torch/distributed/elastic/rendezvous/utils.py.
Result<std::vector<Candidate>> parse_host_list(std::string_view text,
                                               const HostListDefaults& defaults);

/// A host file: one entry per line as above, then optionally `slots=N` and `max_slots=N` (the
/// latter is checked and not used). `#` begins a comment, blank lines are nothing. Lines that
/// repeat a host add up their slots, as launchers of ranks have it. Errors as parse_host_list, with
/// "line N: " before them; no host at all is kUsage.
Result<std::vector<Candidate>> parse_host_file(std::string_view text,
                                               const HostListDefaults& defaults);

/// --hosts: a list, or "@path" of a host file. Also kOs and kLimit from reading it.
Result<std::vector<Candidate>> read_hosts(const Files& files, std::string_view text,
                                          const HostListDefaults& defaults);

/// All nodes of an indexed job, from the name of one: "job-worker-3.svc" of 8 gives
/// job-worker-0.svc to job-worker-7.svc. The index is the number at the end of the first label.
/// kUsage: no such number, or not below `nodes`; kLimit.
Result<std::vector<Candidate>> hosts_by_index(std::string_view own_name, int nodes, uint16_t port);

/// A syntactically possible host name (letters, digits, '-', '_', '.'; labels of 1 to 63 bytes) or
/// numeric address. kUsage says what is wrong. Underscores are not legal but in use.
Status check_host_name(std::string_view host);

}  // namespace muster::rendezvous
