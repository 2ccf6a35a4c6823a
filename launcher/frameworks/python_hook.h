// PythonHook: Python files that this binary carries (hook/) in a private folder, first on the
// PYTHONPATH of the workers. There a sitecustomize.py fills what a script leaves out when it calls
// the framework of the job: some libraries read no environment.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/environment_plan.h"
#include "base/process/temporary_folder.h"
#include "base/result.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// Says to the hook for which library it is there. Declared in command_line/variables.cc.
inline constexpr std::string_view kPythonHookVariable = "MUSTER_PYTHON_HOOK";

struct HookFile {
  std::string_view name;
  std::string_view text;
};
/// What hook/ holds; made by hook/embed.cmake.
[[nodiscard]] std::span<const HookFile> hook_files();

class PythonHook {
 public:
  /// `framework`: the NAME of a hook/muster_hook_NAME.py. `flag`: what turns the hook off, for
  /// people: "--jax-hook off".
  PythonHook(std::string framework, std::string flag)
      : framework_(std::move(framework)), flag_(std::move(flag)) {}

  /// Writes the files below `folder`, which it makes if it is not there, and removes all it has
  /// made when it goes: it is AgentContext::folder, for a driver whose needs() have `folder`. kOs.
  Status open(const std::string& folder);
  /// What makes the workers' Pythons find it, in front of the PYTHONPATH of `user`. Without open()
  /// the folder is one that people understand.
  [[nodiscard]] std::vector<PlannedVariable> variables(const Environment& user) const;
  /// kConfig: the program is a Python that was told to read no PYTHONPATH or no sitecustomize.py
  /// (-I, -E, -S), so that the hook would be absent without a word.
  [[nodiscard]] Status check(const Options& options) const;

 private:
  Status write_files(const std::string& folder);

  std::string framework_;
  std::string flag_;
  std::optional<TemporaryFolder> around_;
  std::optional<TemporaryFolder> folder_;
};

}  // namespace muster::launcher
