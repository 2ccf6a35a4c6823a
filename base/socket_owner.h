// Which user is at the other end of a connection on loopback, as the kernel's tables have it. For
// services that obey only their own user and cannot ask for a secret.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "base/socket.h"

namespace muster {

/// A machine with a hundred thousand sockets has a longer table than this; then nobody is let in.
inline constexpr size_t kMaxSocketTableBytes = 16 << 20;

/// The owner of the socket that is bound to `own` and connected to `peer`, looked up in the text of
/// /proc/net/tcp or /proc/net/tcp6 (proc(5)). None: not in it, or closed by its process, for which
/// the kernel writes uid 0. Pure. Lines that make no sense are skipped.
[[nodiscard]] std::optional<uid_t> find_socket_owner(std::string_view table, const Address& own,
                                                     const Address& peer);

/// The user whose socket on this machine is the other end of ours: `ours` and `theirs` as we see
/// them. The kernel is asked for this one (socket_diag.h); its tables are read where it does not
/// answer. kOs: a table cannot be read; kPeer: no such socket, so the peer is on another machine or
/// already gone. O(1), without netlink O(sockets of the machine).
Result<uid_t> owner_of_peer(const Files& files, const Address& ours, const Address& theirs);

}  // namespace muster
