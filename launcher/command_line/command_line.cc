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

// One reading. What is added last counts least.
class Reader {
 public:
  Reader(const Invocation& invocation, const Environment& environment, const PodFacts* pod)
      : invocation_(invocation),
        environment_(environment),
        pod_(pod),
        files_(pod != nullptr ? pod->files : real_files_) {}

  Result<CommandLine> read(const RandomBytes& random);

 private:
  Status find_contract();
  Status find_manifest();
  Status find_program();
  void warn();
  Status add_values();
  Result<CommandLine> answered();
  Result<CommandLine> resolved(const RandomBytes& random);

  const Invocation& invocation_;
  const Environment& environment_;
  const PodFacts* const pod_;
  const RealFiles real_files_;
  const Files& files_;
  RawFlags raw_;
  std::optional<Contract> contract_;
  std::string refusal_;  // why the pod's contract does not count
  std::optional<Workload> manifest_;
  RawFlags container_;  // the command of the manifest's container
};

Result<CommandLine> Reader::read(const RandomBytes& random) {
  auto raw = scan(invocation_, environment_);
  if (!raw) return std::move(raw).error();
  raw_ = *std::move(raw);
  forget_auto(raw_);
  MUSTER_RETURN_IF_ERROR(find_contract());
  const bool holds = contract_ && contract_->holds;
  if (holds && !raw_.is_on(flag::kExplain)) {  // whatever there is to run
    CommandLine held;
    held.contract = std::move(contract_);
    return held;
  }
  if (contract_) refusal_ = refuses_mpi(said_framework(raw_), *contract_);
  if (!refusal_.empty()) contract_.reset();
  MUSTER_RETURN_IF_ERROR(find_manifest());
  MUSTER_RETURN_IF_ERROR(find_program());
  warn();
  MUSTER_RETURN_IF_ERROR(add_values());
  return raw_.request ? answered() : resolved(random);
}

Status Reader::find_contract() {
  auto contract = contract_for(raw_, pod_);
  if (!contract) return std::move(contract).error();
  contract_ = *std::move(contract);
  return {};
}

Status Reader::find_manifest() {
  auto manifest = manifest_of(raw_, files_);
  if (!manifest) return std::move(manifest).error();
  manifest_ = *std::move(manifest);
  if (!manifest_) return {};
  auto command = container_command(raw_, *manifest_, contract_);
  if (!command) return std::move(command).error();
  container_ = *std::move(command);
  return {};
}

// What the workers run: an inner launcher has given its place to this one.
Status Reader::find_program() {
  auto found = manifest_ && !raw_.program
                   ? with_container_program(std::move(raw_), container_, *manifest_, contract_)
                   : without_inner_launcher(std::move(raw_), environment_, contract_);
  if (!found) return std::move(found).error();
  raw_ = *std::move(found);
  return {};
}

void Reader::warn() {
  if (!refusal_.empty()) raw_.warnings.push_back(refusal_);
  for (std::string& line : unread_variables(environment_)) raw_.warnings.push_back(std::move(line));
  if (raw_.request) return;
  warn_of_flags_behind(raw_);
  if (!manifest_) warn_of_dollars(raw_);
}

// Of flags that nobody gave.
Status Reader::add_values() {
  if (contract_) {
    if (raw_.find(flag::kNprocPerNode) != nullptr) contract_->says_slots = false;
    auto added = apply_contract(std::move(raw_), *contract_);
    if (!added) return std::move(added).error();
    raw_ = *std::move(added);
  }
  if (manifest_)
    raw_ = with_manifest_values(std::move(raw_), container_, *manifest_, contract_, files_);
  if (pod_ != nullptr) raw_ = with_host_slots(std::move(raw_), *pod_);
  return {};
}

Result<CommandLine> Reader::answered() {
  auto text = answer(*raw_.request, invocation_.personality, raw_.dialect);
  if (!text) return std::move(text).error();
  CommandLine command_line;
  command_line.print = *std::move(text);
  return command_line;
}

Result<CommandLine> Reader::resolved(const RandomBytes& random) {
  auto options = resolve_options(raw_, invocation_.personality, random);
  if (!options) return std::move(options).error();
  CommandLine command_line;
  command_line.options = *std::move(options);
  command_line.contract = std::move(contract_);
  if (command_line.contract) explain_secret(command_line, environment_);
  if (command_line.options.explain) explain_interpreter(command_line.options, environment_);
  if (command_line.options.explain) command_line.print = explain_text(command_line.options);
  return command_line;
}

}  // namespace

Result<CommandLine> read_command_line(const Invocation& invocation, const Environment& environment,
                                      const RandomBytes& random, const PodFacts* pod) {
  auto command_line = Reader(invocation, environment, pod).read(random);
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
