// Which mpirun starts a program: the one that --mpi says, or that of the MPI it was built for. And
// whether it can do without one.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/options/framework_options.h"

namespace muster::launcher {

/// For `program`, as the user calls it. Without `wanted` (--mpi): of the MPI whose library the
/// program needs, else as find_launcher(). Under another MPI each of its ranks would be a job of
/// its own: kConfig, naming both. kExec as find_launcher().
Result<FoundLauncher> choose_launcher(const Files& files, std::string_view search_path,
                                      std::optional<mpi::Implementation> wanted,
                                      const std::string& program);

/// Of ranks that agents start (--mpi-launch pmi, pmix), and success for all others. kConfig:
/// `program`, a path, is a launcher, or was built for an MPI that asks otherwise: each rank would
/// be a job of its own.
Status check_rank_program(const Files& files, const FrameworkOptions& framework,
                          const std::string& program);

}  // namespace muster::launcher
