#include "launcher/workers/worker_command.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/process.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

// What torchrun's run_script_path does: argv[0] is the script, and no folder of it joins sys.path.
// There torchrun's own wrapper records an exception, as @record does.
constexpr std::string_view kRunPathCode = R"(import os, runpy, sys
del sys.argv[0]
try:
    runpy.run_path(sys.argv[0], run_name='__main__')
except Exception as error:
    path = os.environ.get('TORCHELASTIC_ERROR_FILE')
    if path and not os.path.exists(path):
        import json, time, traceback
        extra = {'py_callstack': traceback.format_exc(), 'timestamp': str(int(time.time()))}
        text = type(error).__name__ + ': ' + str(error)
        with open(path, 'w') as file:
            json.dump({'message': {'message': text, 'extraInfo': extra}}, file)
    raise
)";

constexpr std::string_view kStandardInput = "-";  // to Python, in place of a script

constexpr std::string_view kPythonNames[] = {"python3", "python"};

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return begins_name(c) || (c >= '0' && c <= '9'); }

/// The identifier that `text` begins with; "" = none.
std::string_view leading_name(std::string_view text) {
  if (text.empty() || !begins_name(text.front())) return {};
  const auto* const end = std::find_if_not(text.begin(), text.end(), continues_name);
  return text.substr(0, static_cast<size_t>(end - text.begin()));
}

std::optional<std::string> value_of(std::string_view name, const WordNames& names) {
  if (name == "local_rank") return std::to_string(names.local_rank);
  if (names.master_addr.empty()) return std::nullopt;
  if (name == "MASTER_ADDR") return names.master_addr;
  if (name == "MASTER_PORT") return std::to_string(names.master_port);
  return std::nullopt;
}

/// python3 or python in `folder`; "" = neither.
std::string python_in(const Files& files, const std::string& folder) {
  for (const std::string_view name : kPythonNames) {
    std::string path = folder + "/" + std::string(name);
    if (files.check_executable(path)) return path;
  }
  return "";
}

/// An interpreter that somebody named, or the Error that says who.
Result<std::string> find_named(const Files& files, const Environment& environment,
                               const std::string& name, std::string_view named_by) {
  auto path = find_program(files, name, search_path(environment));
  if (!path) return std::move(path).error().with_context(named_by);
  return path;
}

Result<std::string> find_interpreter(const Options& options, const Environment& environment,
                                     const Files& files) {
  const std::string chosen(environment.get("PYTHON_EXEC").value_or(""));
  if (!chosen.empty()) return find_named(files, environment, chosen, "PYTHON_EXEC");
  if (!options.interpreter.empty()) {
    return find_named(files, environment, options.interpreter, "interpreter of the inner launcher");
  }
  std::string found;
  if (!options.torchrun_path.empty()) found = python_in(files, folder_of(options.torchrun_path));
  const auto virtual_env = environment.get("VIRTUAL_ENV").value_or("");
  if (found.empty() && !virtual_env.empty()) {
    found = python_in(files, std::string(virtual_env) + "/bin");
  }
  if (!found.empty()) return found;
  for (const std::string_view name : kPythonNames) {
    auto path = find_program(files, std::string(name), search_path(environment));
    if (path) return path;
  }
  return Error{Code::kExec, ENOENT,
               "no Python interpreter: neither python3 nor python is on PATH '" +
                   std::string(search_path(environment)) + "'; set PYTHON_EXEC"};
}

/// A folder that Python runs, where a program was meant.
bool is_package(const Options& options, const Files& files) {
  return options.entry == EntryKind::kProgram && options.personality == Personality::kMuster &&
         files.exists(options.program + "/__main__.py");
}

/// argv up to the program's own arguments.
std::vector<std::string> leading_words(const Options& options, EntryKind entry,
                                       const std::string& interpreter) {
  switch (entry) {
    case EntryKind::kScript:
      return {interpreter, "-u", options.program};
    case EntryKind::kModule:
      return {interpreter, "-u", "-m", options.program};
    case EntryKind::kRunPath:
      return {interpreter, "-u", "-c", std::string(kRunPathCode), options.program};
    case EntryKind::kProgram:
      return {options.program};
  }
  return {};
}

}  // namespace

std::vector<std::string> WorkerCommand::arguments(const WordNames& names) const {
  std::vector<std::string> result = words;
  for (size_t i = 1; i < result.size(); ++i) {
    result[i] = substitute_names(result[i], names);
  }
  return result;
}

Result<WorkerCommand> plan_worker_command(const Options& options, const Environment& environment,
                                          const Files& files) {
  EntryKind entry = options.entry;
  auto program = entry == EntryKind::kProgram
                     ? find_program(files, options.program, search_path(environment))
                     : find_interpreter(options, environment, files);
  if (!program && is_package(options, files)) {
    entry = EntryKind::kScript;
    program = find_interpreter(options, environment, files);
  }
  if (!program) return std::move(program).error();
  // A program sees the name it was called by, not where it was found.
  WorkerCommand command{*program, leading_words(options, entry, *program)};
  if (options.launch_py) command.words.emplace_back("--local-rank=${local_rank}");
  command.words.insert(command.words.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

std::string command_without_arguments(const WorkerCommand& command, const Options& options) {
  const size_t own = command.words.size() - options.arguments.size();
  return join({command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(own)},
              " ");
}

// A rank of "train_${local_rank}.py" has a script of its own; the first one's stands for all.
Status check_script(const Options& options, const Files& files) {
  const bool by_path = options.entry == EntryKind::kScript || options.entry == EntryKind::kRunPath;
  const std::string path = substitute_names(options.program, {});
  if (!by_path || path == kStandardInput || files.exists(path)) return {};
  const std::string whole = absolute_path(path).value_or(path);
  if (const Status tried = files.check_executable(path); !tried && tried.error().os_errno == EACCES)
    return Error{Code::kExec, EACCES, "script '" + whole + "': a folder of it cannot be entered"};
  return Error{Code::kExec, ENOENT, "no script '" + whole + "'"};
}

Status check_python_module(const WorkerCommand& command, const Options& options,
                           const Environment& environment, const std::string& module) {
  constexpr Duration kLimit = std::chrono::seconds(10);
  constexpr int kMissing = 3;
  if (options.entry == EntryKind::kProgram || module.empty()) return {};
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  SpawnRequest request;
  request.program = command.program;
  request.arguments = {command.program, "-c",
                       "import importlib.util as u, sys; sys.path.insert(0, sys.argv[1]); "
                       "sys.exit(0 if u.find_spec('" +
                           module + "') else " + std::to_string(kMissing) + ")",
                       options.entry == EntryKind::kModule ? "" : folder_of(options.program)};
  request.environment = environment.to_exec_strings();
  request.stdin_fd = request.stdout_fd = request.stderr_fd = null.get();
  const auto status = run_to_end(request, kLimit);
  if (!status || status->code != kMissing) return {};
  return Error{Code::kConfig, 0, command.program + " has no module " + module};
}

std::string substitute_names(std::string_view text, const WordNames& names) {
  std::string result;
  while (!text.empty()) {
    const size_t dollar = std::min(text.find('$'), text.size());
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty()) break;
    const bool braced = text.starts_with("${");
    const std::string_view name = leading_name(text.substr(braced ? 2 : 1));
    const size_t length = name.size() + (braced ? 3 : 1);  // "${name}" or "$name"
    const bool closed = !braced || text.substr(0, length).ends_with('}');
    const auto value = closed ? value_of(name, names) : std::nullopt;
    if (value) {
      result += *value;
      text.remove_prefix(length);
    } else {
      result += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
    }
  }
  return result;
}

}  // namespace muster::launcher
