// Completion for shells: a script that completes verbs, flags, and the values of flags that have a
// closed list of them; everything else is a file. Made from the tables of flags and verbs. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {

inline constexpr std::array<std::string_view, 2> kCompletedShells = {"bash", "zsh"};

/// The script for `shell`, one of these, as `source <(muster completion bash)` wants it. It is for
/// `muster`, or for `torchrun` in its dialects. kUsage: another shell.
[[nodiscard]] Result<std::string> completion_script(std::string_view shell, Dialect dialect);

}  // namespace muster::launcher
