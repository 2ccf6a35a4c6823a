// The values of the flags that say for what framework workers are started, and how. Pure; other
// values: option_values.h. Errors: kUsage, without the flag's name.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "launcher/framework_options.h"
#include "mpi/implementation.h"

namespace muster::launcher {

/// --framework: pytorch, mpi.
Result<Framework> parse_framework(std::string_view text);
/// --mpi: auto (none), openmpi, mpich, intel.
Result<std::optional<mpi::Implementation>> parse_mpi(std::string_view text);
/// --mpi-launch: mpirun, pmi.
Result<MpiLaunch> parse_mpi_launch(std::string_view text);
/// --mpi-role: any, launcher, launcher-worker, worker.
Result<MpiRole> parse_mpi_role(std::string_view text);
Status check_contract(std::string_view text);
/// --mpi-transport: rsh, ssh.
Result<MpiTransport> parse_mpi_transport(std::string_view text);
/// --mpi-start-timeout: a time of base/text.h, at least kMinMpiStartTimeout.
Result<Duration> parse_mpi_start_timeout(std::string_view text);

}  // namespace muster::launcher
