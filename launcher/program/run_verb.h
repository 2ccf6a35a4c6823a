// `muster run` and torchrun: reads the command line, builds what the agent needs, runs it. The only
// place where an error of start-up becomes a line and an exit code.
#pragma once

#include "base/environment.h"
#include "base/process/init.h"
#include "launcher/command_line/command_line.h"

namespace muster::launcher {

/// Runs a job to its end. Returns the process's exit code; has written everything there is to say.
int run_job(const Invocation& invocation, const Environment& environment,
            const ProcessSetup& setup);

}  // namespace muster::launcher
