// Tells what became of the remote shell that the user's settings or words name for a launcher.
#pragma once

#include <string>
#include <vector>

#include "mpi/launch/remote_shell.h"

namespace muster::launcher {

/// The event mpi.remote_shell for each. `rsh_program`: what replaces ssh.
void tell_shells(const std::vector<mpi::ShellSetting>& shells, const std::string& rsh_program);

}  // namespace muster::launcher
