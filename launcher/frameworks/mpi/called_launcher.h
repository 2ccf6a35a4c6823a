// An MPI launcher that the job's command calls. It is found in the command's words or in a script's
// text, so that the command runs once and not once for each rank. Its ranks come below `muster
// rank` by a variable (mpi/launch/rank_agent.h). Hydra wants more: a link of its launcher's name in
// front of PATH leads to this program, which gives it a stdin and, if it is MPICH's, puts `muster
// rank` before the ranks' program, and then becomes the launcher. So the launcher stays the
// command's own child, and agents hear of it from its ranks alone.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "launcher/workers/worker_command.h"

namespace muster::launcher {

/// "mpirun" for `sh -c "mpirun ./a.out"`, a shell script that calls it, `env A=1 mpirun ./a.out`.
/// None: the command calls no launcher, or its text does not show it.
[[nodiscard]] std::optional<std::string> find_called_launcher(const Files& files,
                                                              const WorkerCommand& command);

/// The names that mean a launcher of MPICH or Intel MPI on `search_path`. Only they get a link: a
/// command that looks for a launcher finds those that are really there.
[[nodiscard]] std::vector<std::string> hydras_on(const Files& files, std::string_view search_path);

/// This program was called by the name of a launcher.
[[nodiscard]] bool is_called_launcher(std::string_view called_as);
/// Becomes the launcher of that name which comes next on PATH, with `muster rank --` before each
/// program if its words can be understood and no `muster rank` is above. Returns only if it cannot:
/// 127 without such a launcher, else 126. For a process that has changed nothing of what it
/// inherited.
int run_called_launcher(const std::vector<std::string>& words, Environment environment,
                        std::FILE* errors);

}  // namespace muster::launcher
