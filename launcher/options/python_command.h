// What a Python interpreter is told to run, and of its own options those that matter here. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace muster::launcher {

struct PythonCommand {
  std::string module;  ///< of -m; "" = none
  std::string script;  ///< "" = none: a module, -c, or its input
  size_t rest = 0;     ///< the first word after the module or script
  /// The option that keeps PYTHONPATH or sitecustomize.py from it: "-I", "-E" or "-S"; "" = none.
  std::string_view blinding = {};
};

/// `words`: without the interpreter. Letters without value may share a word; -m, -c, -X and -W take
/// the rest of theirs or the next one. Source: "Command line and environment", Python 3.13.
[[nodiscard]] PythonCommand read_python_command(std::span<const std::string> words);

}  // namespace muster::launcher
