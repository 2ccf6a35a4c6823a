// What a rank that a launcher started finds besides the launcher's own variables: those by which
// PyTorch's env:// and most training code know a rank. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/environment_plan.h"

namespace muster::mpi {

/// Set where Muster's own words started the ranks, which bind none of them to CPUs: several on a
/// node would each start a thread per CPU.
inline constexpr std::string_view kUnboundRanksVariable = "MUSTER_RANK_UNBOUND";

/// RANK, WORLD_SIZE, LOCAL_RANK and LOCAL_WORLD_SIZE, from the variables of Open MPI or of Hydra
/// (MPICH, Intel MPI) in `rank`, as far as they are there; OMP_NUM_THREADS=1 for one of several on
/// a node under kUnboundRanksVariable. Each yields to the user's own.
[[nodiscard]] std::vector<PlannedVariable> launched_rank_variables(const Environment& rank);

}  // namespace muster::mpi
