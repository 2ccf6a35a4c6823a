// The stdin of an MPI launcher. Hydra (MPICH 4.0.2, 5.0.2) and Intel MPI 2021.18 forward the end of
// their stdin to the proxy of rank 0, also the end of /dev/null. If that proxy has ended before,
// they die of SIGPIPE or exit with 255: a job whose ranks all succeeded fails now and then.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "mpi/launch/implementation.h"

namespace muster::launcher {

[[nodiscard]] bool is_dev_null(int fd);

/// A stdin for such a launcher that says nothing and never ends, if our own is /dev/null. Use it
/// only if every rank is below a `muster rank` that is told kNoInput (rank_variables.h). Not open:
/// our own stdin will do. kOs.
Result<UniqueFd> open_launcher_input(mpi::Implementation implementation);

}  // namespace muster::launcher
