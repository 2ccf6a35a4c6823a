// The door of an agent for the processes of its own node: a stream socket in Linux's abstract name
// space (unix(7)), which is no file and no port. The kernel says which user is at the other end, so
// callers need no secret and no cryptography.
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace muster::mpi {

/// The door's name for an agent's mark (process_marks.h), as in MUSTER_RSH_AGENT:
/// "@muster-rsh-<mark>".
[[nodiscard]] std::string rsh_door_name(std::string_view agent_token);

/// Listens; non-blocking. kOs: EADDRINUSE, when another process has the name.
Result<UniqueFd> listen_at_door(std::string_view name);

/// A connection to the agent that listens there, non-blocking. kConfig: no such name is possible;
/// kPeer: nobody listens, too many wait, or it is another user's process (but root's).
Result<UniqueFd> connect_to_door(std::string_view name);

/// The next connection that waits. kOs; os_errno EAGAIN = none now.
Result<UniqueFd> accept_at_door(int listener);

/// Whether the process at the other end may have commands run. It must belong to our own user or to
/// root: such a process could read our memory and the job's secret anyway. And it must live in our
/// name space of processes or below, which keeps out root of another container that shares our
/// network (hostNetwork). kPeer, one line.
Status admit_at_door(int connection);

}  // namespace muster::mpi
