// PeersCheck: `muster doctor --peers` as a job: on every node an agent that finds the others as
// `muster run` does, with one worker that is this program again (doctor/pair_worker.h).
#pragma once

#include <string>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "launcher/doctor/doctor_verb.h"

namespace muster::launcher {

/// Runs the job to its end. `flags`: of `muster run`, by which the nodes find each other. What goes
/// wrong is told by the agent, on stderr. `own`: what the others are told of this node.
PeersAnswer check_peers(const std::vector<std::string>& flags, const nccl::NodeTraits& own,
                        const Environment& environment, Files& files, const ProcessSetup& setup);

}  // namespace muster::launcher
