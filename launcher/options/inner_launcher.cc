#include "launcher/options/inner_launcher.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/options/python_command.h"

namespace muster::launcher {

namespace {

using Words = std::span<const std::string>;

struct KnownModule {
  std::string_view module;
  std::string_view file;  // the end of its path
  Dialect dialect;
};
constexpr KnownModule kModules[] = {
    {"torch.distributed.run", "/torch/distributed/run.py", Dialect::kTorchrun},
    {"torch.distributed.launch", "/torch/distributed/launch.py", Dialect::kLaunch},
};

std::vector<std::string> to_vector(Words words) { return {words.begin(), words.end()}; }

std::optional<InnerLauncher> of(std::optional<ForeignCommand> command) {
  if (!command) return std::nullopt;
  InnerLauncher inner{command->name, Dialect::kMuster, "", "", command->arguments};
  inner.foreign = std::move(command);
  return inner;
}

std::optional<InnerLauncher> by_module(std::string_view module, Words rest) {
  for (const KnownModule& known : kModules) {
    if (known.module != module) continue;
    return InnerLauncher{std::string(module), known.dialect, "", "", to_vector(rest)};
  }
  return of(read_foreign_module(module, rest));
}

std::optional<InnerLauncher> by_script(const std::string& script, Words rest) {
  if (base_name(script) == "torchrun") {
    const bool has_folder = script.find('/') != std::string::npos;
    return InnerLauncher{"torchrun", Dialect::kTorchrun, "", has_folder ? script : "",
                         to_vector(rest)};
  }
  if (base_name(script) == "muster" && !rest.empty() && rest.front() == "run")
    return InnerLauncher{std::string(kMusterRun), Dialect::kMuster, "", "",
                         to_vector(rest.subspan(1))};
  for (const KnownModule& known : kModules) {
    if (!script.ends_with(known.file)) continue;
    return InnerLauncher{std::string(known.module), known.dialect, "", "", to_vector(rest)};
  }
  return of(read_foreign_program(script, rest));
}

std::optional<InnerLauncher> by_python(Words words) {
  const PythonCommand command = read_python_command(words);
  if (command.module.empty() && command.script.empty()) return std::nullopt;
  const Words rest = words.subspan(command.rest);
  return command.module.empty() ? by_script(command.script, rest) : by_module(command.module, rest);
}

}  // namespace

bool chooses_program(Flag flag) {
  return flag == flag::kModule || flag == flag::kNoPython || flag == flag::kRunPath ||
         flag == flag::kUseEnv;
}

bool is_python(std::string_view program) {
  std::string_view name = base_name(program);
  if (!name.starts_with("python")) return false;
  name.remove_prefix(6);
  return std::ranges::all_of(name, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
}

std::optional<InnerLauncher> find_inner_launcher(EntryKind kind, const std::string& program,
                                                 const std::vector<std::string>& arguments) {
  if (kind == EntryKind::kModule) {
    if (auto inner = by_module(program, arguments)) return inner;
    // PET_MODULE may be set for the inner torchrun; the outer command is then still a command.
  }
  if (!is_python(program)) return by_script(program, arguments);
  auto inner = by_python(arguments);
  if (inner) inner->interpreter = program;
  return inner;
}

namespace {

// What it was told of all nodes is for one here. A range of nodes has no one answer.
Result<InnerLauncher> per_node(const RawFlags& outer, InnerLauncher inner) {
  if (!inner.foreign->problem.empty())
    return wrong(inner.foreign->problem).with_context("in the arguments of " + inner.name);
  if (!inner.foreign->nodes.empty() && outer.find(flag::kNnodes) == nullptr)
    inner.arguments.insert(inner.arguments.begin(), {"--nnodes", inner.foreign->nodes});
  const int total = inner.foreign->total_workers;
  if (total == 0) return inner;
  const GivenValue* const given = outer.find(flag::kNnodes);
  const auto nodes = parse_integer(given == nullptr ? "1" : given->text);
  if (!nodes || *nodes < 1 || total % *nodes != 0) {
    return wrong(inner.name + " is to start " + std::to_string(total) +
                 " workers, which is not so many on each of --nnodes " +
                 (given == nullptr ? "1" : given->text));
  }
  const std::string workers = std::to_string(total / *nodes);
  inner.arguments.insert(inner.arguments.begin(), {"--nproc-per-node", workers});
  return inner;
}

std::string told(const InnerLauncher& inner) {
  std::string text = inner.name + " is not started: Muster starts its program itself";
  if (!inner.foreign->ignored.empty())
    text += ", and knows better than its " + join(inner.foreign->ignored, ", ");
  const bool counted = inner.foreign->total_workers > 0 ||
                       std::ranges::count(inner.arguments, "--nproc-per-node") > 0;
  if (!counted) text += "; one worker on each node unless --nproc-per-node says more";
  return text;
}

}  // namespace

Result<RawFlags> take_over(const RawFlags& outer, const InnerLauncher& given,
                           const Environment& environment) {
  InnerLauncher inner = given;
  if (inner.foreign) {
    auto translated = per_node(outer, std::move(inner));
    if (!translated) return std::move(translated).error();
    inner = *std::move(translated);
  }
  auto merged = scan_flags(inner.dialect, inner.arguments, environment);
  if (!merged) return std::move(merged).error().with_context("in the arguments of " + inner.name);
  merged->interpreter = inner.interpreter;
  merged->torchrun_path = inner.torchrun_path;
  merged->manifest = outer.manifest;
  if (inner.foreign) {
    merged->environment = inner.foreign->environment;
    merged->warnings.push_back(told(inner));
  }
  for (auto& [flag, value] : merged->given) {
    if (value.kind == SourceKind::kCommandLine) value.source = inner.name;
  }
  // Outer variables were read again with the inner command line; only what was typed is merged.
  for (const FlagRow& row : flag_table()) {
    const GivenValue* const ours = outer.find(row.flag());
    if (ours == nullptr || ours->kind != SourceKind::kCommandLine || chooses_program(row.flag()))
      continue;
    const GivenValue* const theirs = merged->find(row.flag());
    const bool both = theirs != nullptr && theirs->kind == SourceKind::kCommandLine;
    if (!both) {
      merged->given[row.flag()] = *ours;
    } else if (theirs->text != ours->text) {
      merged->warnings.push_back(long_name(row) + " is '" + ours->text + "' for muster and '" +
                                 theirs->text + "' for " + inner.name + ", using '" + theirs->text +
                                 "'");
    }
  }
  return merged;
}

}  // namespace muster::launcher
