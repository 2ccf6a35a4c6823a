// What an agent starts for a command of `muster rsh`: a shell, or, in an image that has none, the
// program itself where the command needs no more. Pure but for looking at files.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/result.h"
#include "launcher/rsh/rsh_protocol.h"

namespace muster::launcher {

/// The language that Open MPI writes for a user with this login shell: csh's for csh and tcsh.
/// Source: plm_rsh_module.c, setup_shell(), Open MPI 4.1.4.
[[nodiscard]] RshShell language_of(std::string_view login_shell);

/// The words of a command that means the same without a shell: separated by blanks, in quotes or
/// not. None: it needs a shell (variables, redirections, several commands, patterns), or is empty.
[[nodiscard]] std::optional<std::vector<std::string>> plain_words(std::string_view command);

struct RshProgram {
  std::string path;
  std::vector<std::string> arguments;                          ///< with argv[0]
  std::vector<std::pair<std::string, std::string>> variables;  ///< besides its environment
};

/// For kSh /bin/sh; for kCsh `login_shell` where it is one, else the first csh there is, else
/// /bin/sh for plain words. Without the shell: plain words are a program, looked for on the PATH of
/// `environment`, in which it will run; for kSh also behind what Open MPI sets for its daemons
/// (rsh_prologue.h). kExec, as a shell would tell it: there is no shell and the command needs one,
/// or no such program.
Result<RshProgram> program_for(const Files& files, RshShell shell, std::string_view login_shell,
                               const Environment& environment, const std::string& command);

}  // namespace muster::launcher
