#include "launcher/frameworks/mpi/called_launcher.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/process/own_binary.h"
#include "base/text.h"
#include "launcher/frameworks/mpi/launcher_input.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/rank/rank_verb.h"
#include "launcher/report/exit_codes.h"
#include "mpi/launch/launch_settings.h"
#include "mpi/launch/launcher_call.h"
#include "mpi/rank/rank_variables.h"

namespace muster::launcher {

namespace {

// The first on PATH that is not this program.
Result<std::string> find_next(const Files& files, const std::string& name, const std::string& own,
                              std::string_view search_path) {
  for (const std::string_view folder : split(search_path, ':')) {
    auto path = find_program(files, name, folder);
    if (path && follow_links(files, *path) != own) return path;
  }
  return Error{Code::kExec, ENOENT, name + ": no MPI launcher of this name on PATH"};
}

// What `muster rank` needs to find the job is there, and it is not there already.
bool wants_ranks_watched(const Environment& environment) {
  return environment.has(mpi::kRankReportVariable) && !is_reported_above(environment);
}

// Whether the name means a launcher of Hydra's, of MPICH's or Intel MPI's.
std::optional<mpi::Implementation> hydra_at(const Files& files, const std::string& path) {
  const auto kind = identify_launcher(files, path);
  if (!kind || kind->implementation == mpi::Implementation::kOpenMpi) return std::nullopt;
  return kind->implementation;
}

// A stdin that ends only if it should, for ranks that are all below a `muster rank`.
Status give_input(mpi::Implementation implementation, Environment& environment) {
  auto input = open_launcher_input(implementation);
  if (!input) return std::move(input).error();
  if (!input->is_open()) return {};
  if (dup2(input->get(), STDIN_FILENO) < 0) return os_error("dup2");
  environment.set(mpi::kRankInputVariable, mpi::kNoInput);
  return {};
}

}  // namespace

std::optional<std::string> find_called_launcher(const Files& files, const WorkerCommand& command) {
  const mpi::ShellCommand parsed = mpi::parse_shell_command(command.words);
  if (!parsed.launcher.empty()) return parsed.launcher;
  if (!parsed.text.empty()) return mpi::find_launcher_call(parsed.text);
  if (parsed.script_path.empty()) return std::nullopt;
  // Of a program its own path is known, which may come from PATH.
  const bool is_program = parsed.script_path == command.words[0];
  const auto content =
      files.read(is_program ? command.program : parsed.script_path, mpi::kMaxScriptBytes);
  if (!content || (is_program && !mpi::is_shell_script(*content))) return std::nullopt;
  return mpi::find_launcher_call(*content);
}

std::vector<std::string> hydras_on(const Files& files, std::string_view search_path) {
  std::vector<std::string> found;
  for (const std::string_view name : mpi::all_launcher_names()) {
    const auto path = find_program(files, std::string(name), search_path);
    if (path && hydra_at(files, *path)) found.emplace_back(name);
  }
  return found;
}

bool is_called_launcher(std::string_view called_as) { return is_launcher_name(called_as); }

int run_called_launcher(const std::vector<std::string>& words, Environment environment,
                        std::FILE* errors) {
  const RealFiles files;
  const auto failed = [errors](const Error& error) {
    return complain(errors, "muster", error.text, start_failure_code(error.os_errno));
  };
  const auto own = own_binary(files);
  if (!own) return failed(own.error());
  const auto path =
      find_next(files, std::string(base_name(words[0])), *own, search_path(environment));
  if (!path) return failed(path.error());
  WorkerCommand command{*path, words};
  // Hydra looks for its daemon beside argv[0], and the link has none beside it.
  command.words[0] = *path;
  if (const auto kind = identify_launcher(files, *path)) {
    const FoundLauncher launcher = without_script(files, {*path, *kind});
    command.program = launcher.path;
    for (const std::string_view name : mpi::unwanted_variables(kind->implementation))
      environment.unset(name);
    const RankWatch watch = find_rank_watch(files, launcher, command, search_path(environment));
    if (wants_ranks_watched(environment) && watch.sees_ranks()) {
      const Status given = give_input(kind->implementation, environment);
      if (!given) return failed(given.error());
      // Ranks tell by which process they were started: by this one, which becomes the launcher.
      put_rank_words(*own, watch.programs, command.words, getpid());
    }
  }
  return failed(become_program(command.program, command.words, environment.to_exec_strings()));
}

}  // namespace muster::launcher
