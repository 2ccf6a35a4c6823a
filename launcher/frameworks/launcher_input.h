// What an MPI launcher has as its stdin. Hydra (MPICH 4.0.2, 5.0.2) and Intel MPI 2021.18 forward
// its end to the proxy of rank 0, also the end of /dev/null, and die of SIGPIPE, or with 255, where
// that proxy has ended first: a job whose ranks all succeeded fails now and then.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "mpi/implementation.h"

namespace muster::launcher {

[[nodiscard]] bool is_dev_null(int fd);

/// Where our own stdin is /dev/null, one for such a launcher that says nothing and never ends; only
/// where every rank is below a `muster rank` that is told kNoInput (rank_variables.h). Not open:
/// ours will do. kOs.
Result<UniqueFd> open_launcher_input(mpi::Implementation implementation);

}  // namespace muster::launcher
