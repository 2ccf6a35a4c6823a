// `muster dashboard`: takes what sidecars report and shows it to people, for those without a
// controller. No workers, no rendezvous.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/process/verb_loop.h"

namespace muster::launcher {

/// Runs `muster dashboard ARGUMENTS` (without the verb) until SIGTERM, SIGINT or SIGHUP arrives at
/// `signal_fd` (base/signals.h; borrowed), then returns 0. Prints one line on `output` once it can
/// be reached: "dashboard http://127.0.0.1:8090/". Exit codes: 0; 64 (command line); 71 (cannot
/// listen, or the file cannot be opened); 75 (another dashboard has the file); 78 (the file is no
/// database, or not ours; no token).
[[nodiscard]] int run_dashboard_verb(const std::vector<std::string>& arguments, const Files& files,
                                     VerbLoop& verb, int signal_fd, std::FILE* output,
                                     std::FILE* errors);

}  // namespace muster::launcher
