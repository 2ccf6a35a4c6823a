// Framework values: the grammars of --framework and of the flags of MPI, pure. As option_values.h,
// which has those of all other flags.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "launcher/framework_options.h"

namespace muster::launcher {

inline constexpr std::string_view kNoContract = "none";

/// --framework: pytorch, mpi.
Result<Framework> parse_framework(std::string_view text);
/// --mpi: auto (none), openmpi, mpich, intel.
Result<std::optional<mpi::Implementation>> parse_mpi(std::string_view text);
/// --mpi-launch: mpirun, pmi, pmix, command, elastic.
Result<MpiLaunch> parse_mpi_launch(std::string_view text);
/// --mpi-role: any, launcher, launcher-worker, worker.
Result<MpiRole> parse_mpi_role(std::string_view text);
/// --contract: auto, kNoContract.
Status check_contract(std::string_view text);
/// --mpi-transport: rsh, ssh, sshd, sshd-unverified.
Result<MpiTransport> parse_mpi_transport(std::string_view text);
/// --mpi-start-timeout: a time of base/text.h, at least kMinMpiStartTimeout.
Result<Duration> parse_mpi_start_timeout(std::string_view text);

}  // namespace muster::launcher
