// What the positional of a command line is: a script for Python, a module, a program. Pure.
#pragma once

#include "launcher/options/flags.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// How the positional is started. On torchrun's command line always as a script unless a flag says
/// otherwise; on Muster's a name ending in .py, .pyc or .pyz is a script, all else a program.
[[nodiscard]] EntryKind entry_kind(const RawFlags& raw);

}  // namespace muster::launcher
