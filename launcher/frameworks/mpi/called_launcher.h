// An MPI launcher that the job's command calls. It is found in a script's text, so that the script
// runs once and not once for each rank. A link of its name in front of PATH leads to this program,
// which puts `muster rank` before the ranks' program and then becomes the launcher. So the launcher
// stays the command's own child, and agents hear of it from its ranks alone.
//
// run_called_launcher() and the links (launcher_files.h) are the only place that knows by which
// means `muster rank` comes above those ranks.
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

/// The names of the launchers that are on `search_path`. Only they get a link: a command that looks
/// for a launcher finds those that are really there.
[[nodiscard]] std::vector<std::string> launchers_on(const Files& files,
                                                    std::string_view search_path);

/// This program was called by the name of a launcher.
[[nodiscard]] bool is_called_launcher(std::string_view called_as);
/// Becomes the launcher of that name which comes next on PATH, with `muster rank --` before each
/// program if its words can be understood and no `muster rank` is above. Returns only if it cannot:
/// 127 without such a launcher, else 126. For a process that has changed nothing of what it
/// inherited.
int run_called_launcher(const std::vector<std::string>& words, Environment environment,
                        std::FILE* errors);

}  // namespace muster::launcher
