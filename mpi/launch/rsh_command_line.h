// The command line of a remote shell, as every MPI launcher calls one: ssh's options, a host, words
// of a shell program. Pure. What is done with it: mpi/rsh/rsh_verb.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace muster::mpi {

/// One argument of exec holds at most 128 KiB with its final zero (Linux, MAX_ARG_STRLEN), and the
/// command becomes one: `/bin/sh -c COMMAND`. Launchers send 1 KiB.
inline constexpr size_t kMaxRshCommandBytes = 128 * 1024 - 1;
inline constexpr size_t kMaxRshHostBytes = 253;  ///< RFC 1035, without the trailing dot
inline constexpr size_t kMaxRshUserBytes = 64;   ///< twice what useradd(8) takes

struct RshCommandLine {
  std::string host;       ///< as given: a label, a full name, an address
  std::string user;       ///< "user@host" or -l; "" = none
  std::string command;    ///< the words joined with single spaces, for a shell; never quoted again
  size_t command_at = 0;  ///< the place of its first word in `words`
  bool no_stdin = false;  ///< -n
};

/// `words` follow the program's name (and the verb):
///   [OPTION...] [user@]HOST [OPTION...] [--] WORD...
/// Options are ssh's (OpenSSH 10.0), alone, bundled (-xq) or with a value behind or attached (-p
/// 22, -p22); all but -l and -n mean nothing here. Open MPI puts "-p PORT" after the host, Intel
/// MPI
/// "-q -x" before it. The first word behind the host that is no option begins the command.
/// kUsage, one line: no host, no command (there are no logins), an option ssh does not have, one
/// without its value, an empty host or user. kLimit names limit and value.
Result<RshCommandLine> parse_rsh_command_line(const std::vector<std::string>& words);

}  // namespace muster::mpi
