// The door of an agent for the processes of its own node: a stream socket in Linux's abstract name
// space (unix(7)), which is no file and no port. The kernel says which user is at the other end, so
// callers need no secret and no cryptography. Without a job secret other agents and ranks come
// through a second door: what one entrance refuses, no other one takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/loop.h"
#include "base/result.h"

namespace muster::mpi {

/// The door's name for an agent's mark (process_marks.h), as in MUSTER_RSH_AGENT:
/// "@muster-rsh-<mark>".
[[nodiscard]] std::string rsh_door_name(std::string_view agent_token);

/// The second one's, of the agent of that incarnation: "@muster-run-<incarnation>". Everybody who
/// has the list of nodes knows it; who is let in does not depend on that.
[[nodiscard]] std::string rsh_commands_door_name(uint64_t incarnation);

/// Listens; non-blocking. kOs: EADDRINUSE, when another process has the name.
Result<UniqueFd> listen_at_door(std::string_view name);

/// A connection to the agent that listens there, non-blocking. kConfig: no such name is possible;
/// kPeer: nobody listens, too many wait, or it is another user's process (but root's).
Result<UniqueFd> connect_to_door(std::string_view name);

/// The same to the second door of an agent, for commands and reports of a job without a secret.
/// kPeer also says that such an agent must be on this machine.
Result<UniqueFd> connect_to_commands(uint64_t incarnation);

/// Whether the process at the other end may have commands run. It must belong to our own user or to
/// root: such a process could read our memory and the job's secret anyway. And it must live in our
/// name space of processes or below, which keeps out root of another container that shares our
/// network (hostNetwork). In a name space of users the kernel shows those without a number there as
/// one number (overflowuid); if that is ours, the process must live in our name space of users,
/// too. kPeer, one line.
Status admit_at_door(int connection);

inline constexpr int kRshAcceptsPerTurn = 64;
/// After a failed accept (no descriptors).
inline constexpr Duration kRshAcceptPause = std::chrono::milliseconds(200);

/// An open door, until its end.
class RshDoor {
 public:
  /// `admitted`: an error is why the process at the other end is not to be served.
  using Visit = std::function<void(UniqueFd connection, Status admitted)>;
  /// `loop` is borrowed. `visit` comes from it. Errors: listen_at_door().
  static Result<std::unique_ptr<RshDoor>> create(Loop& loop, std::string_view name, Visit visit);
  RshDoor(const RshDoor&) = delete;
  RshDoor& operator=(const RshDoor&) = delete;

 private:
  RshDoor(Loop& loop, UniqueFd listener, Visit visit)
      : loop_(loop), listener_(std::move(listener)), visit_(std::move(visit)) {}
  void on_acceptable();

  Loop& loop_;
  UniqueFd listener_;
  Visit visit_;
  Watch watch_;  // after listener_: unregistered before it is closed
  Timer accept_again_;
};

}  // namespace muster::mpi
