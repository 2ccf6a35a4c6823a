// Worker command: what exec gets for each local rank. Pure apart from looking for the interpreter
// through Files. The environment of a worker is not made here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/files.h"
#include "base/result.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// What $name and ${name} stand for in the words of a command.
struct WordNames {
  int local_rank = 0;            ///< $local_rank
  std::string master_addr = {};  ///< $MASTER_ADDR, in words of a manifest; "" = it stays
  int master_port = 0;           ///< $MASTER_PORT, the same
};

/// One command for all local ranks of a node.
struct WorkerCommand {
  std::string program;             ///< path for exec
  std::vector<std::string> words;  ///< argv, before substitution
  /// argv of one worker: the names are replaced in every word but the first.
  [[nodiscard]] std::vector<std::string> arguments(const WordNames& names) const;
};

/// `<interpreter> -u script args`, `-u -m module args`, the bare program, or an interpreter that
/// calls runpy.run_path. A program of Muster's command line that is a folder with a __main__.py,
/// and nothing that can be executed, is a script. With `options.launch_py`, --local-rank=N comes
/// before the script's own arguments; that is the spelling of torch 2.0 and newer (1.13:
/// --local_rank). The interpreter is the first of
///  1. PYTHON_EXEC (path or name), as for torchrun;
///  2. `options.interpreter`, the one an inner launcher was started with;
///  3. python3 or python beside `options.torchrun_path` (a torchrun script's own interpreter);
///  4. $VIRTUAL_ENV/bin/python3 or python;
///  5. python3, then python, on PATH.
/// 1 and 2 must exist, the others are tried. Errors: kExec as find_program (ENOENT, EACCES), saying
/// what was looked for.
Result<WorkerCommand> plan_worker_command(const Options& options, const Environment& environment,
                                          const Files& files);
/// The command for people, "/usr/bin/python3 -u train.py": without the program's own arguments,
/// which may be long, or secret.
[[nodiscard]] std::string command_without_arguments(const WorkerCommand& command,
                                                    const Options& options);
/// Whether the script is there. kExec: ENOENT, of which Python would say 2, or EACCES.
Status check_script(const Options& options, const Files& files);

/// Whether the interpreter of a script or a module finds that Python module. Asks it, which takes
/// as long as its start. kConfig: it does not. What cannot be asked is no error.
Status check_python_module(const WorkerCommand& command, const Options& options,
                           const Environment& environment, const std::string& module);

/// Python's string.Template.safe_substitute with these names: "$$" becomes "$", other names and
/// stray '$' stay. Source: string.Template, Python 3.13; checked against torchrun 2.13.
[[nodiscard]] std::string substitute_names(std::string_view text, const WordNames& names);

}  // namespace muster::launcher
