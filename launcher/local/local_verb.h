// `muster local`: a job of many nodes on one machine, with real agents, each on a loopback address
// of its own, and faults on demand. It starts `muster run` N times and watches; the agents do the
// rest.
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "launcher/init.h"

namespace muster::launcher {

/// More agents than one machine carries.
inline constexpr int kMaxLocalNodes = 250;

/// Runs the job and returns its exit code: that of the first node that no fault of ours ended, as
/// all nodes agree on it. `words` follow the verb. Errors are told on stderr.
int run_local_verb(const std::vector<std::string>& words, const Environment& environment,
                   const ProcessSetup& setup);

}  // namespace muster::launcher
