// Front ends: launchers that read options and files of their own and then call torchrun inside
// their own Python process, such as `accelerate launch`. Only they know what these mean, so that
// they run once, and Muster takes the call (hook/muster_hook_launch.py). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/options/options.h"

namespace muster::launcher {

/// "accelerate launch", if that command is one. None: any other.
[[nodiscard]] std::optional<std::string> front_end_name(EntryKind kind, const std::string& program,
                                                        const std::vector<std::string>& arguments);

}  // namespace muster::launcher
