#include "launcher/command_line/command_line.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "launcher/command_line/manifest_words.h"
#include "launcher/command_line/unread_variables.h"
#include "launcher/command_line/unsaid.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/contracts/read_contract.h"
#include "launcher/frameworks/mpi/mpi_launcher.h"
#include "launcher/options/completion.h"
#include "launcher/options/contract_names.h"
#include "launcher/options/entry_kind.h"
#include "launcher/options/flag_text.h"
#include "launcher/options/flags.h"
#include "launcher/options/inner_launcher.h"
#include "launcher/options/mpi_flags.h"
#include "launcher/workers/worker_command.h"
#include "rendezvous/wire/job_secret.h"

namespace muster::launcher {

namespace {

/// Arguments may hold line breaks and more that hides what is wrong; a message is one line.
std::string message(std::string_view text) {
  return std::string(clip_utf8(one_line(text), kMaxMessageBytes));
}

/// A shell's $$ is its own number, and torchrun makes a '$' of it.
void warn_of_dollars(RawFlags& raw) {
  if (entry_kind(raw) != EntryKind::kProgram) return;
  const bool doubled = std::ranges::any_of(raw.arguments, [](const std::string& word) {
    const size_t begin = word.find("$$");
    return begin != word.npos && word.compare(begin, 4, "$$$$") != 0;
  });
  if (doubled)
    raw.warnings.emplace_back(
        "'$$' in an argument becomes '$', as torchrun does it: write $$$$ for a shell's $$");
}

/// Flags behind the program are the program's. Of those that hardly any program has it is told.
void warn_of_flags_behind(RawFlags& raw) {
  constexpr Flag kUnmistakable[] = {flag::kNprocPerNode, flag::kNnodes, flag::kRdzvBackend,
                                    flag::kRdzvEndpoint};
  if (entry_kind(raw) != EntryKind::kScript) return;
  for (const std::string& word : raw.arguments) {
    std::string name = word.substr(0, word.find('='));
    std::ranges::replace(name, '_', '-');
    for (const Flag flag : kUnmistakable) {
      if (name != long_name(row_of(flag)) || raw.find(flag) != nullptr) continue;
      raw.warnings.push_back(word.substr(0, word.find('=')) +
                             " stands behind the program, so it is an argument of the program");
    }
  }
}

std::optional<InnerLauncher> inner_launcher(const RawFlags& raw) {
  if (raw.dialect == Dialect::kTorchrun || !raw.program) return std::nullopt;
  return find_inner_launcher(entry_kind(raw), *raw.program, raw.arguments);
}

// "" = nobody says it, and the contract may.
std::string said_framework(const RawFlags& raw) {
  if (const GivenValue* const framework = raw.find(flag::kFramework)) return framework->text;
  const auto inner = inner_launcher(raw);
  if (inner && !inner->foreign) return "pytorch";
  const bool starts_mpi =
      entry_kind(raw) == EntryKind::kProgram && is_launcher_name(raw.program.value_or(""));
  return starts_mpi ? "mpi" : "";
}

Result<RawFlags> scan(const Invocation& invocation, const Environment& environment) {
  const bool as_torchrun = invocation.personality == Personality::kTorchrun;
  const Dialect dialect = as_torchrun ? Dialect::kTorchrun : Dialect::kMuster;
  auto raw = scan_flags(dialect, invocation.words, environment);
  if (raw && as_torchrun && invocation.called_as.find('/') != std::string::npos)
    raw->torchrun_path = invocation.called_as;
  return raw;
}

// An inner launcher's flags become ours; behind those of Muster there may be another one. As an
// MPI's own launcher it runs, and reaches the other nodes through the agents.
Result<RawFlags> without_inner_launcher(RawFlags raw, const Environment& environment,
                                        const std::optional<Contract>& contract) {
  for (int depth = 0; depth < kMaxInnerLaunchers; ++depth) {
    const auto inner = inner_launcher(raw);
    const std::string framework = said_framework(raw);
    const bool of_mpi = framework == "mpi" || (framework.empty() && contract &&
                                               said(*contract, flag::kFramework) == "mpi");
    if (!inner || (inner->foreign && of_mpi)) break;
    auto merged = take_over(raw, *inner, environment);
    if (!merged) return std::move(merged).error();
    raw = *std::move(merged);
    if (inner->name != kMusterRun) break;
  }
  return raw;
}

Result<std::string> answer(const FlagRequest& request, Personality personality, Dialect dialect) {
  const FlagRow& row = row_of(request.flag);
  const std::string& argument = request.argument;
  if (request.flag == flag::kHelp && argument.empty()) return help_text(dialect);
  if (request.flag == flag::kHelp && argument == "markdown") return help_markdown();
  if (request.flag == flag::kVersion && argument.empty()) return version_text(personality);
  if (request.flag == flag::kPrintCompletion) {
    auto script = completion_script(argument, dialect);
    if (!script) return std::move(script).error().with_context(long_name(row));
    return script;
  }
  return Error{Code::kUsage, 0, long_name(row) + ": '" + argument + "' is not supported"};
}

// None: there is none, or nobody wants to know.
Result<std::optional<Contract>> contract_for(const RawFlags& raw, const PodFacts* pod) {
  std::optional<Contract> none;
  const GivenValue* const given = raw.find(flag::kContract);
  const std::string wanted = given != nullptr ? given->text : std::string(kAutoContract);
  const bool refused = wanted == kNoContract || raw.dialect == Dialect::kTorchrun || raw.request;
  if (pod == nullptr || refused) return none;
  const std::string framework = said_framework(raw);
  auto contract = read_contract({pod->environment, pod->files, pod->host_name, framework}, wanted);
  if (!contract)
    return std::move(contract).error().with_context(long_name(row_of(flag::kContract)));
  return contract;
}

// It is what nobody need say.
void forget_auto(RawFlags& raw) {
  const GivenValue* const framework = raw.find(flag::kFramework);
  if (framework != nullptr && framework->text == kAutoFramework) raw.given.erase(flag::kFramework);
}

// The secret is no flag, but nobody would look for it elsewhere.
void explain_secret(CommandLine& command_line, const Environment& environment) {
  const Contract& contract = *command_line.contract;
  if (contract.secret_file.empty() || environment.has(rendezvous::kJobSecretFileVariable)) return;
  command_line.options.explained.push_back({std::string(rendezvous::kJobSecretFileVariable),
                                            contract.secret_file,
                                            contract_source(contract, "mounted in every pod")});
}

// Which Python it is depends on the environment and on what is installed.
void explain_interpreter(Options& options, const Environment& environment) {
  if (options.program.empty() || options.entry == EntryKind::kProgram) return;
  const auto command = plan_worker_command(options, environment, RealFiles());
  const bool named = environment.has("PYTHON_EXEC") || !options.interpreter.empty();
  options.explained.push_back({"interpreter", command ? command->program : "",
                               !command ? command.error().text
                               : named  ? "named by PYTHON_EXEC or the inner launcher"
                                        : "found"});
}

Result<CommandLine> read(const Invocation& invocation, const Environment& environment,
                         const RandomBytes& random, const PodFacts* pod) {
  auto raw = scan(invocation, environment);
  if (!raw) return std::move(raw).error();
  forget_auto(*raw);
  CommandLine command_line;
  auto contract = contract_for(*raw, pod);
  if (!contract) return std::move(contract).error();
  command_line.contract = *std::move(contract);
  const bool holds = command_line.contract && command_line.contract->holds;
  if (holds && !raw->is_on(flag::kExplain)) return command_line;  // whatever there is to run
  const std::string refusal =
      command_line.contract ? refuses_mpi(said_framework(*raw), *command_line.contract) : "";
  if (!refusal.empty()) command_line.contract.reset();
  const RealFiles real_files;
  const Files& files = pod != nullptr ? pod->files : real_files;
  const auto manifest = manifest_of(*raw, files);
  if (!manifest) return Error(manifest.error());
  RawFlags container;
  if (*manifest) {
    auto command = container_command(*raw, **manifest, command_line.contract);
    if (!command) return std::move(command).error();
    container = *std::move(command);
  }
  raw = *manifest && !raw->program
            ? with_container_program(*std::move(raw), container, **manifest, command_line.contract)
            : without_inner_launcher(*std::move(raw), environment, command_line.contract);
  if (!raw) return std::move(raw).error();
  if (!refusal.empty()) raw->warnings.push_back(refusal);
  for (std::string& line : unread_variables(environment)) raw->warnings.push_back(std::move(line));
  if (!raw->request) {
    warn_of_flags_behind(*raw);
    if (!*manifest) warn_of_dollars(*raw);
  }
  if (command_line.contract) {
    if (raw->find(flag::kNprocPerNode) != nullptr) command_line.contract->says_slots = false;
    raw = apply_contract(*std::move(raw), *command_line.contract);
    if (!raw) return std::move(raw).error();
  }
  if (*manifest)
    raw =
        with_manifest_values(*std::move(raw), container, **manifest, command_line.contract, files);
  if (pod != nullptr) raw = with_host_slots(*std::move(raw), *pod);
  if (raw->request) {
    auto text = answer(*raw->request, invocation.personality, raw->dialect);
    if (!text) return std::move(text).error();
    command_line.print = *std::move(text);
    return command_line;
  }
  auto options = resolve_options(*raw, invocation.personality, random);
  if (!options) return std::move(options).error();
  command_line.options = *std::move(options);
  if (command_line.contract) explain_secret(command_line, environment);
  if (command_line.options.explain) explain_interpreter(command_line.options, environment);
  if (command_line.options.explain) command_line.print = explain_text(command_line.options);
  return command_line;
}

}  // namespace

Result<CommandLine> read_command_line(const Invocation& invocation, const Environment& environment,
                                      const RandomBytes& random, const PodFacts* pod) {
  auto command_line = read(invocation, environment, random, pod);
  if (!command_line) {
    Error error = std::move(command_line).error();
    error.text = message(error.text);
    return error;
  }
  for (std::string& line : command_line->options.warnings) line = message(line);
  return command_line;
}

Environment job_environment(const CommandLine& command_line, const Environment& pod) {
  Environment environment =
      command_line.contract ? contract_environment(*command_line.contract, pod) : pod;
  for (const auto& [name, value] : command_line.options.environment) environment.set(name, value);
  return environment;
}

}  // namespace muster::launcher
