// Whether a command that is not an MPI launcher itself calls one: a shell script, `sh -c "mpirun
// ..."`, `env A=1 mpirun`. Pure, and a guess about text that only a shell could read for certain.
// Used by launcher/frameworks/mpi/called_launcher, because such a command started once for each
// rank would run the whole job once for each rank.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::mpi {

/// A script is looked through as far as this; longer ones call their launcher before it.
inline constexpr size_t kMaxScriptBytes = 256U << 10;

/// The launcher that this text for a shell names ("/opt/bin/mpirun"), outside comments and outside
/// what is printed (echo, printf). None: it names none. O(text).
[[nodiscard]] std::optional<std::string> find_launcher_call(std::string_view shell_text);

/// What a command runs in the end.
struct ShellCommand {
  std::string launcher;     ///< behind env, timeout, nice and the like; "" = none
  std::string text;         ///< of `sh -c TEXT`; "" = none
  std::string script_path;  ///< of `sh SCRIPT`, and of a program that may be one; "" = none
};
/// `words`: argv of the command.
[[nodiscard]] ShellCommand parse_shell_command(const std::vector<std::string>& words);

/// "#!/bin/sh\n...", "#!/usr/bin/env bash\n...": a script for a shell.
[[nodiscard]] bool is_shell_script(std::string_view content);

}  // namespace muster::mpi
