// `muster local`: a job of many nodes on one machine, with real agents, each on a loopback address
// of its own, and faults on demand. It starts `muster run` N times and watches; the agents do the
// rest.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/process/init.h"

namespace muster::launcher {

/// Runs the job and returns its exit code (LocalNodes::exit_code). `words` follow the verb. Errors
/// are told on stderr.
int run_local_verb(const std::vector<std::string>& words, const Environment& environment,
                   const ProcessSetup& setup);

}  // namespace muster::launcher
