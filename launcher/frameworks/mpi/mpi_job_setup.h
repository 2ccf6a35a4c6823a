// What an MpiJob (mpi_job.h) is given, and its parts with it.
#pragma once

#include "launcher/frameworks/driver.h"
#include "mpi/rsh/rsh_server.h"

namespace muster::launcher {

/// For a launcher to end by itself after a failure that it notices: told to meanwhile, Open MPI 4.1
/// crashes.
inline constexpr Duration kLauncherOwnEnd = std::chrono::seconds(2);

struct MpiJobSetup : DriverHost {
  mpi::RshServer& rsh;  ///< borrowed for the life of the job
  [[nodiscard]] std::optional<pid_t> launcher_pid() const { return process_of(0); }
};

}  // namespace muster::launcher
