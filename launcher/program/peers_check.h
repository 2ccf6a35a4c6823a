// PeersCheck: `muster doctor --peers` as a job: on every node an agent that finds the others as
// `muster run` does, with one worker that is this program again (doctor/pair_worker.h).
#pragma once

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "launcher/doctor/doctor_verb.h"

namespace muster::launcher {

/// Runs the job to its end. What goes wrong is told by the agent, on stderr.
PeersAnswer check_peers(const PeersCall& call, const Environment& environment, Files& files,
                        const ProcessSetup& setup);

}  // namespace muster::launcher
