// An MPI launcher that the job's command calls: found in a script's text, so that the script runs
// once and not once for each rank; and stood in for by a link of its name in front of PATH, which
// puts `muster rank` before the program and stays above the launcher (launcher_runner.h).
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "launcher/worker_command.h"

namespace muster::launcher {

/// "mpirun" for `sh -c "mpirun ./a.out"`, a shell script that calls it, `env A=1 mpirun ./a.out`.
/// None: the command calls none, or does so where this cannot be seen.
[[nodiscard]] std::optional<std::string> find_called_launcher(const Files& files,
                                                              const WorkerCommand& command);

/// Those launchers of mpi::is_launcher_name() that are on `search_path`: who looks for one finds
/// what is there and no more.
[[nodiscard]] std::vector<std::string> launchers_on(const Files& files,
                                                    std::string_view search_path);

/// This program was called by the name of a launcher.
[[nodiscard]] bool is_called_launcher(std::string_view called_as);
/// Runs the launcher of that name which comes next on PATH. Where its words can be read and nobody
/// reports above it has `muster rank --` before each program, and a LauncherRunner above it; else
/// this process becomes the launcher. Returns its exit code, or ends by its signal; 127 without
/// such a launcher, 126; 71, 78 when it cannot be reported. For a process that has changed nothing
/// of what it inherited.
int run_called_launcher(const std::vector<std::string>& words, Environment environment,
                        std::FILE* errors);

}  // namespace muster::launcher
