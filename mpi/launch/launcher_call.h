// Whether a command that is not an MPI launcher itself calls one: such a command started once for
// each rank would run the whole job once for each rank. It does if the name of a launcher is one of
// its words and others follow (`entrypoint.sh mpirun -n 2 ./a.out`), or if the shell text that it
// runs calls one. Pure, and a guess about text that only a shell could read for certain. Used by
// launcher/frameworks/mpi/called_launcher.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::mpi {

/// A script is looked through as far as this; longer ones call their launcher before it.
inline constexpr size_t kMaxScriptBytes = 256U << 10;

/// The launcher that this text for a shell calls ("/opt/bin/mpirun"). A call has words behind the
/// name that are not only a question (--version), and the name begins the command, perhaps behind
/// words that pass the rest on (exec, time, timeout 60), or an option follows it. Variables that
/// the text sets to a launcher's name stand for it. Comments, what is printed (echo) and what is
/// looked for (which, [ -x) are no calls. None: it calls none. O(text).
[[nodiscard]] std::optional<std::string> find_launcher_call(std::string_view shell_text);

/// What a command runs in the end.
struct ShellCommand {
  std::string launcher;     ///< one of its words, which others follow; "" = none
  std::string text;         ///< of `sh -c TEXT`; "" = none
  std::string script_path;  ///< of `sh SCRIPT`, and of a program that may be one; "" = none
};
/// `words`: argv of the command.
[[nodiscard]] ShellCommand parse_shell_command(const std::vector<std::string>& words);

/// "#!/bin/sh\n...", "#!/usr/bin/env bash\n...": a script for a shell.
[[nodiscard]] bool is_shell_script(std::string_view content);

}  // namespace muster::mpi
