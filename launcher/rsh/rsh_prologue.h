// What Open MPI writes in front of a daemon's program, understood without a shell: for images that
// have none. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"

namespace muster::launcher {

inline constexpr size_t kMaxPrologueStatements = 32;  ///< Open MPI writes eight
/// One string of exec (Linux, MAX_ARG_STRLEN): values may hold each other, and double each time.
inline constexpr size_t kMaxPrologueValueBytes = 128 * 1024 - 1;

struct RshPrologue {
  std::vector<std::pair<std::string, std::string>> variables;  ///< that the program gets
  std::string_view program;  ///< what is left of the command; not read any further
};

/// The statements `NAME=VALUE;` and `export NAME;` at the beginning of `command`, with nothing in
/// VALUE but plain characters, `$NAME`, `${NAME}` and `${NAME:-}`, which are looked up in what was
/// set before and in `environment`; and, around all, "( test ! -r ./.profile || . ./.profile; ...
/// )": a profile is for the shell that is not here. A variable that is neither exported nor in
/// `environment` is nobody's. What is not understood stays in `program`, which then needs a shell.
/// Source: plm_rsh_module.c of Open MPI 4.1.4, plm_ssh_module.c of PRRTE 3.0.14.
[[nodiscard]] RshPrologue read_prologue(std::string_view command, const Environment& environment);

}  // namespace muster::launcher
