// FrameworkOptions: for what framework the workers are started, and how. Filled by resolve_options.
#pragma once

#include <optional>

#include "mpi/implementation.h"

namespace muster::launcher {

/// kPytorch serves everything that reads torchrun's variables, and plain commands. kMpi: node rank
/// 0 starts the launcher of an MPI, and that starts the ranks.
enum class Framework { kPytorch, kMpi };

/// Who starts the ranks of an MPI job.
enum class MpiLaunch { kMpirun };

struct FrameworkOptions {
  Framework framework = Framework::kPytorch;
  std::optional<mpi::Implementation> mpi;  ///< --mpi; none = whichever is found
  MpiLaunch mpi_launch = MpiLaunch::kMpirun;
  [[nodiscard]] bool is_mpi() const { return framework == Framework::kMpi; }
};

}  // namespace muster::launcher
