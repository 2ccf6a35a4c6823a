#include "launcher/program/front_end.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/process.h"
#include "base/process/own_binary.h"
#include "base/process/temporary_folder.h"
#include "base/text.h"
#include "launcher/frameworks/python_hook.h"
#include "launcher/options/entry_kind.h"
#include "launcher/options/flags.h"
#include "launcher/options/front_end.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/python_command.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kFrontEndVariable = "MUSTER_FRONT_END";

struct Found {
  std::string name;
  std::string program;
  std::vector<std::string> arguments;  // without the program
  std::vector<std::string> flags;      // that stood before it
};

// Whatever is wrong with the command line, read_command_line() says.
std::optional<Found> find(const Invocation& invocation, const Environment& environment) {
  if (invocation.personality != Personality::kMuster) return std::nullopt;
  const auto raw = scan_flags(Dialect::kMuster, invocation.words, environment);
  if (!raw || raw->request || !raw->program) return std::nullopt;
  const EntryKind kind = entry_kind(*raw);
  auto name = front_end_name(kind, *raw->program, raw->arguments);
  if (!name) return std::nullopt;
  Found found{std::move(*name), *raw->program, raw->arguments, {}};
  const auto last = invocation.words.end() - static_cast<std::ptrdiff_t>(raw->arguments.size()) - 1;
  found.flags.assign(invocation.words.begin(), last);
  std::erase_if(found.flags, [](const std::string& word) {
    return word == "--" || word == "--no-python" || word == "--no_python";
  });
  if (kind != EntryKind::kModule) return found;
  std::erase_if(found.flags,
                [](const std::string& word) { return word == "-m" || word == "--module"; });
  found.arguments.insert(found.arguments.begin(), {"-m", found.program});
  found.program = "python3";
  return found;
}

// Its files go when it becomes Muster again, or ends (hook/muster_hook_launch.py).
Result<std::string> write_hook(RealFiles& files, const Environment& environment) {
  const std::string place = find_temporary_place(files, environment).folder;
  auto folder = files.make_private_folder(place + "/muster-hook-");
  if (!folder) return folder;
  for (const HookFile& file : hook_files()) {
    const std::string path = *folder + "/" + std::string(file.name);
    MUSTER_RETURN_IF_ERROR(files.write(path, std::string(file.text)));
  }
  return folder;
}

}  // namespace

Status become_front_end(const Invocation& invocation, const Environment& environment,
                        const ProcessSetup& setup) {
  const auto found = find(invocation, environment);
  if (!found) return {};
  const std::string_view blinding =
      is_python(found->program) ? read_python_command(found->arguments).blinding : "";
  if (!blinding.empty()) {
    return Error{Code::kConfig, 0,
                 fmt::format("'{} {}' takes no notice of the hook for {}: leave {} out",
                             found->program, blinding, found->name, blinding)};
  }
  RealFiles files;
  auto path = find_program(files, found->program, environment.get("PATH").value_or(""));
  if (!path) return std::move(path).error();
  auto own = own_binary(files);
  if (!own) return std::move(own).error();
  auto folder = write_hook(files, environment);
  if (!folder) return std::move(folder).error().with_context("the hook for " + found->name);
  Environment told = environment;
  const std::string_view python_path = environment.get("PYTHONPATH").value_or("");
  told.set("PYTHONPATH", *folder + (python_path.empty() ? "" : ":" + std::string(python_path)));
  told.set(std::string(kPythonHookVariable), "launch");
  told.set(std::string(kFrontEndVariable),
           dump_json({{"muster", *own}, {"flags", nlohmann::json(found->flags)}}));
  (void)std::fprintf(stderr,
                     "muster: %s reads its own options; what it would start, Muster starts\n",
                     found->name.c_str());
  std::vector<std::string> words{found->program};
  words.insert(words.end(), found->arguments.begin(), found->arguments.end());
  (void)sigprocmask(SIG_SETMASK, &setup.original_mask,
                    nullptr);  // cannot fail with these arguments
  if (!setup.was_ignored(SIGPIPE)) (void)std::signal(SIGPIPE, SIG_DFL);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = setup.original_fd_limit;
    (void)setrlimit(RLIMIT_NOFILE, &limit);  // a higher one does no harm
  }
  return become_program(*path, words, told.to_exec_strings());
}

}  // namespace muster::launcher
