// The inner verb `muster tend PROGRAM ARGV…`: an MPI launcher to nodes without an agent
// (`--mpi-transport sshd`). It starts the launcher, passes signals on and ends as it does; but a 0
// is believed only when the connections that the launcher has left behind end well, too: Open MPI 5
// says 0 as soon as it misses a daemon.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/environment.h"

namespace muster::launcher {

inline constexpr std::string_view kTendVerb = "tend";
/// For connections to end after their launcher, which take as long as a daemon takes to exit.
inline constexpr Duration kConnectionEnd = std::chrono::seconds(5);

/// `words` follow the verb. Returns the launcher's exit code, 128 + signal where one ended it,
/// kExitUntruthful (mpi_ranks.h) with a line on `errors` where its 0 is not believed, 126 or 127
/// when it cannot be started, 64 for words that mean nothing.
int run_tend_verb(const std::vector<std::string>& words, const Environment& environment,
                  std::FILE* errors);

}  // namespace muster::launcher
