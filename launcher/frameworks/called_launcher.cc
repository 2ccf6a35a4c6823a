#include "launcher/frameworks/called_launcher.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "base/own_process.h"
#include "base/process.h"
#include "base/signals.h"
#include "base/text.h"
#include "base/tls.h"
#include "launcher/exit_codes.h"
#include "launcher/frameworks/launcher_input.h"
#include "launcher/frameworks/launcher_runner.h"
#include "launcher/frameworks/mpi_launcher.h"
#include "launcher/init.h"
#include "launcher/job_secret.h"
#include "launcher/own_binary.h"
#include "launcher/rank/rank_variables.h"
#include "launcher/rank/rank_verb.h"
#include "mpi/launch_settings.h"
#include "mpi/launcher_call.h"

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
  return environment.has(kRankReportVariable) && !is_reported_above(environment);
}

// A launcher whose ranks report.
struct WatchedLauncher {
  std::string muster;  // path of this binary
  mpi::Implementation implementation = mpi::Implementation::kMpich;
  WorkerCommand command;              // of the user
  std::vector<ProgramWord> programs;  // in it
};

// Stays above it. Returns as what to end.
Result<ExitStatus> run_watched(const WatchedLauncher& launcher, Environment environment) {
  auto report = parse_rank_report(environment.get(kRankReportVariable).value_or(""));
  if (!report) return std::move(report).error();
  const auto tls = tls_from_secret(environment, RealFiles());
  if (!tls) return Error(tls.error());
  auto setup = init_process();
  if (!setup) return std::move(setup).error();
  const SystemClock clock;
  auto loop = Loop::create(clock);
  if (!loop) return std::move(loop).error();
  const auto input = open_launcher_input(launcher.implementation);
  if (!input) return Error(input.error());
  if (input->is_open()) environment.set(kRankInputVariable, kNoInput);
  SpawnRequest request;
  request.stdin_fd = input->get();
  request.program = launcher.command.program;
  request.environment = environment.to_exec_strings();
  request.signal_mask = setup->original_mask;
  request.ignore_sigpipe = setup->was_ignored(SIGPIPE);
  request.fd_limit = setup->original_fd_limit;
  // Who leads the group, as where a shell became the launcher, cannot leave it: what is sent to the
  // group would come to the launcher once from there and once from here.
  request.new_session = getpgrp() == getpid();
  request.keep_inherited = true;
  const auto with_ranks_of = [&launcher, &request](pid_t pid) {
    request.arguments = launcher.command.words;
    put_rank_words(launcher.muster, launcher.programs, request.arguments, pid);
    return request;
  };
  RealNetwork network;
  RealProcessHost processes;
  Result<ExitStatus> result = Error{Code::kInternal, 0, "the loop ended"};
  LauncherRunner runner({.loop = **loop,
                         .network = network,
                         .processes = processes,
                         .tls = tls->get(),
                         .agent = report->agent,
                         .launcher = {.run_id = report->run_id,
                                      .name = std::string(base_name(launcher.command.program)),
                                      .round = report->round,
                                      .pid = static_cast<uint32_t>(getpid())},
                         .watched = with_ranks_of(getpid()),
                         .unwatched = with_ranks_of(0),
                         .started = leave_process_group},
                        [&result, &loop](Result<ExitStatus> ended) {
                          result = std::move(ended);
                          (*loop)->stop();
                        });
  const int signal_fd = setup->signal_fd.get();
  auto watch = (*loop)->watch(signal_fd, Interest::kRead, [&runner, signal_fd](Ready) {
    for (;;) {
      const auto signal = read_signal(signal_fd);
      if (!signal || !*signal) return;
      runner.handle_signal((*signal)->number);
    }
  });
  if (!watch) return std::move(watch).error();
  runner.start();
  MUSTER_RETURN_IF_ERROR((*loop)->run());
  return result;
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

std::vector<std::string> launchers_on(const Files& files, std::string_view search_path) {
  std::vector<std::string> found;
  for (const std::string_view name : mpi::all_launcher_names()) {
    if (find_program(files, std::string(name), search_path)) found.emplace_back(name);
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
    auto programs = program_words(files, launcher, command);
    if (wants_ranks_watched(environment) && programs) {
      name_for_rank(files, launcher, *programs, command.words, search_path(environment));
      const auto ended =
          run_watched({*own, kind->implementation, command, std::move(*programs)}, environment);
      if (!ended && ended.error().code == Code::kExec) return failed(ended.error());
      if (!ended) {
        return complain(errors, "muster", ended.error().text,
                        exit_code_of_error(Personality::kMuster, ended.error()));
      }
      if (ended->signal != 0) end_by_signal(ended->signal);
      return ended->shell_code();
    }
  }
  return failed(become_program(command.program, command.words, environment.to_exec_strings()));
}

}  // namespace muster::launcher
