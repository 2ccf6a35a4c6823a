// Which environment variables tell a process its rank in an MPI, PMI, PMIx, Slurm, Flux or PALS
// launch. A worker that inherits them from around its agent takes the agent's rank for its own, or
// calls a daemon that does not know it. Variables for the *job* (node list, job id) and for users'
// settings (OMPI_MCA_btl, PMIX_MCA_gds) are not meant.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"

namespace muster::mpi {

/// One row: a name, or the beginning of names.
struct RankVariable {
  std::string_view name;
  bool is_prefix = false;
  std::string_view family;  ///< "Open MPI", "PMIx", "Slurm step", ...
  std::string_view source;  ///< where the row comes from
};

/// The table, in the order in which it is searched.
[[nodiscard]] std::span<const RankVariable> rank_variables();

/// The row that `name` falls under; none when it says nothing of a rank. The pointer is valid for
/// ever. O(rows), some forty.
[[nodiscard]] const RankVariable* find_rank_variable(std::string_view name);

/// Those of `environment` that must be taken from whoever is started anew.
[[nodiscard]] std::vector<PlannedVariable> outer_ranks(const Environment& environment);

}  // namespace muster::mpi
