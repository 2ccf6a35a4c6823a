#include "launcher/frameworks/python_hook.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/text.h"
#include "launcher/frameworks/driver.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/python_command.h"

namespace muster::launcher {

namespace {

/// A folder to which nobody else has access: with --rsh it was made already.
bool is_private(const std::string& path) {
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid() && (status.st_mode & 0777U) == S_IRWXU;
}

}  // namespace

Status PythonHook::open(const std::string& folder) {
  Status written = write_files(folder);
  if (!written) return std::move(written).error().with_context("the hook for " + framework_);
  return {};
}

Status PythonHook::write_files(const std::string& folder) {
  auto around = TemporaryFolder::create(folder);
  if (around) {
    around_.emplace(std::move(*around));
  } else if (!is_private(folder)) {
    return std::move(around).error();
  }
  auto made = TemporaryFolder::create(folder + "/hook");
  if (!made) return std::move(made).error();
  folder_.emplace(std::move(*made));
  for (const HookFile& file : hook_files()) {
    auto path = folder_->put(std::string(file.name), file.text);
    if (!path) return std::move(path).error();
  }
  return {};
}

std::vector<PlannedVariable> PythonHook::variables(const Environment& user) const {
  std::string path = folder_ ? folder_->path() : std::string(kMadeAtStart) + "/hook";
  const std::string_view rest = user.get("PYTHONPATH").value_or("");
  if (!rest.empty()) path += ":" + std::string(rest);
  const std::string source = framework_ + " hook";
  return {{.name = "PYTHONPATH",
           .value = std::move(path),
           .reason = "the hook is first; what was there follows",
           .source = source,
           .claim = Claim::kOverrides},
          {.name = std::string(kPythonHookVariable),
           .value = framework_,
           .reason = "the library whose missing arguments are filled",
           .source = source,
           .claim = Claim::kOverrides}};
}

Status PythonHook::check(const Options& options) const {
  if (options.entry != EntryKind::kProgram || !is_python(options.program)) return {};
  const std::string_view option = read_python_command(options.arguments).blinding;
  if (option.empty()) return {};
  return Error{Code::kConfig, 0,
               fmt::format("'{} {}' takes no notice of the hook for {}: leave {} out, or say {}",
                           options.program, option, framework_, option, flag_)};
}

}  // namespace muster::launcher
