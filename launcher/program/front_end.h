// This process becomes a front end (options/front_end.h), which becomes `muster run` again when it
// knows what to start.
#pragma once

#include "base/environment.h"
#include "base/process/init.h"
#include "launcher/command_line/command_line.h"

namespace muster::launcher {

/// Comes back if the command is none, or with why it could not be started. kOs, kExec.
Status become_front_end(const Invocation& invocation, const Environment& environment,
                        const ProcessSetup& setup);

}  // namespace muster::launcher
