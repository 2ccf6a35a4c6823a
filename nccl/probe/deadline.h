// The end of muster-probe's patience. The libraries that it calls may hang where no deadline of
// ours reaches, so the kernel's alarm ends the process, with a line that says what it was at.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace muster::probe {

/// Ends this process with exit code 69 and "muster-probe VERB: not done within 3 s: STEP" on stderr
/// when `limit` has passed. Once per process. kOs.
Status set_deadline(const std::string& verb, Duration limit);

/// What is done from now on, for that line: "waiting for a peer". `step` is a literal.
void note_step(const char* step);

}  // namespace muster::probe
