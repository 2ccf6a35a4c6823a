// FrameworkOptions: for what framework the workers are started, and how. Filled by resolve_options.
#pragma once

#include <optional>

#include "base/clock.h"
#include "mpi/implementation.h"

namespace muster::launcher {

/// kPytorch serves everything that reads torchrun's variables, and plain commands. kMpi: the ranks
/// of an MPI program, however they are started.
enum class Framework { kPytorch, kMpi };

/// Who starts the ranks of an MPI job. kMpirun: node rank 0 starts the launcher of an MPI, and that
/// starts the ranks. kPmi, kPmix: every agent starts its own as its workers, and they find each
/// other through the agents (rank_server.h).
enum class MpiLaunch { kMpirun, kPmi, kPmix };

/// Intel MPI takes whole seconds.
inline constexpr Duration kMinMpiStartTimeout = std::chrono::seconds(1);

struct FrameworkOptions {
  Framework framework = Framework::kPytorch;
  std::optional<mpi::Implementation> mpi;  ///< --mpi; none = whichever is found
  MpiLaunch mpi_launch = MpiLaunch::kMpirun;
  /// From mpirun's start until all ranks have begun.
  Duration mpi_start_timeout = std::chrono::minutes(5);
  [[nodiscard]] bool is_mpi() const { return framework == Framework::kMpi; }
  [[nodiscard]] bool uses_mpirun() const { return is_mpi() && mpi_launch == MpiLaunch::kMpirun; }
  [[nodiscard]] bool uses_pmi() const { return is_mpi() && mpi_launch == MpiLaunch::kPmi; }
  [[nodiscard]] bool uses_pmix() const { return is_mpi() && mpi_launch == MpiLaunch::kPmix; }
  /// Ranks of MPI as workers of the agents.
  [[nodiscard]] bool starts_ranks() const { return uses_pmi() || uses_pmix(); }
};

}  // namespace muster::launcher
