#include "launcher/program/env_verb.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/exit_code.h"
#include "base/recorded_files.h"
#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/contracts/apply_contract.h"
#include "launcher/frameworks/mpi/launch_preview.h"
#include "launcher/frameworks/mpi/rank_environment.h"
#include "launcher/options/flag_search.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/random_run_id.h"
#include "launcher/program/drivers.h"
#include "launcher/progress/progress_watch.h"
#include "launcher/report/exit_codes.h"
#include "launcher/workers/worker_plan.h"

namespace muster::launcher {

namespace {

constexpr const char* kName = "muster env";
constexpr const char* kHelp =
    "usage: muster env [--explain | --json | --export] [--local-rank K | --all] [--root DIR]\n"
    "                  [flags of muster run] [--] [PROGRAM [arguments]]\n"
    "\n"
    "Prints the variables that `muster run` with these flags would give to a worker of this node, "
    "on\n"
    "top of the environment of the pod. With one launcher for all nodes (--framework mpi) it "
    "prints\n"
    "those of the launcher, and what a rank of this node has besides. Nothing is started.\n"
    "\n"
    "  --explain       with the layer, the reason and the source of each variable, and with those "
    "that\n"
    "                  your own settings keep\n"
    "  --json          one JSON object\n"
    "  --export        for a shell: eval \"$(muster env --export ...)\"\n"
    "  --local-rank K  the worker of that local rank (default 0)\n"
    "  --all           all workers of this node\n"
    "  --root DIR      of another machine, whose files are in DIR (muster doctor --capture)\n";

enum class Form { kText, kExplain, kJson, kExport };

struct EnvOptions {
  Form form = Form::kText;
  bool all = false;
  std::optional<int> local_rank;
  std::string root;  // "" = this machine
  bool help = false;
  std::vector<std::string> rest;  // of `muster run`
};

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Status set_form(EnvOptions& options, Form form) {
  if (options.form != Form::kText && options.form != form)
    return usage("--explain, --json and --export exclude each other");
  options.form = form;
  return {};
}

Status set_local_rank(EnvOptions& options, const std::string& text) {
  const auto rank = parse_integer(text);
  if (!rank || *rank < 0 || *rank > 65535)
    return usage("--local-rank: '" + text + "' is no local rank");
  options.local_rank = static_cast<int>(*rank);
  return {};
}

// Takes `word` if it is a flag of this verb; `next` is what follows it. How many words it took.
Result<size_t> take(const std::string& word, const std::string* next, EnvOptions& options) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (name == "--local-rank" || name == "--root") {
    if (equals == std::string::npos && next == nullptr)
      return usage(name + ": a value must follow");
    const std::string value = equals == std::string::npos ? *next : word.substr(equals + 1);
    if (name == "--root") {
      if (value.empty()) return usage("--root: a folder is wanted");
      options.root = value;
    } else {
      MUSTER_RETURN_IF_ERROR(set_local_rank(options, value));
    }
    return equals == std::string::npos ? 2 : 1;
  }
  if (word == "--explain") {
    MUSTER_RETURN_IF_ERROR(set_form(options, Form::kExplain));
  } else if (word == "--json") {
    MUSTER_RETURN_IF_ERROR(set_form(options, Form::kJson));
  } else if (word == "--export") {
    MUSTER_RETURN_IF_ERROR(set_form(options, Form::kExport));
  } else if (word == "--all") {
    options.all = true;
  } else if (word == "--help" || word == "-h") {
    options.help = true;
  } else {
    return 0;
  }
  return 1;
}

// Of `muster run`: with the value that follows.
size_t words_of_run_flag(const std::string& word) {
  if (word.find('=') != std::string::npos) return 1;
  const FlagRow* row = word.starts_with("--") ? find_flag(word.substr(2), Dialect::kMuster)
                                              : find_letter(word.back(), Dialect::kMuster);
  const bool glued = !word.starts_with("--") && word.size() > 2;
  return row == nullptr || row->kind == FlagKind::kSwitch || glued ? 1 : 2;
}

// The flags of both stand in any order, up to the program.
Result<EnvOptions> parse(const std::vector<std::string>& words) {
  EnvOptions options;
  size_t i = 0;
  while (i < words.size() && words[i].starts_with('-') && words[i] != "--") {
    const auto own = take(words[i], i + 1 < words.size() ? &words[i + 1] : nullptr, options);
    if (!own) return Error(own.error());
    const size_t others = *own == 0 ? words_of_run_flag(words[i]) : 0;
    for (size_t k = 0; k < others && i + k < words.size(); ++k)
      options.rest.push_back(words[i + k]);
    i += *own + others;
  }
  i = std::min(i, words.size());
  options.rest.insert(options.rest.end(), words.begin() + static_cast<std::ptrdiff_t>(i),
                      words.end());
  if (options.all && options.local_rank) return usage("--all and --local-rank exclude each other");
  if (options.all && options.form == Form::kExport)
    return usage("--export is for one process: leave --all out");
  return options;
}

// A program is not needed to know the variables.
std::vector<std::string> with_program(std::vector<std::string> words,
                                      const Environment& environment) {
  const auto raw = scan_flags(Dialect::kMuster, words, environment);
  if (raw && !raw->program && !raw->request)
    words.insert(words.end(), {"--no-python", "--", "true"});
  return words;
}

bool is_decided_at_start(const VariableDecision& decision, bool has_run_id) {
  constexpr std::array<std::string_view, 5> kNames = {"MASTER_ADDR", "MASTER_PORT",
                                                      "TORCHELASTIC_ERROR_FILE", "MUSTER_AGENT_ID",
                                                      "MUSTER_RANK_REPORT"};
  if (decision.action != VariableDecision::Action::kSet) return false;
  if (decision.name == "TORCHELASTIC_RUN_ID") return !has_run_id;
  return std::ranges::count(kNames, decision.name) > 0 ||
         decision.value.find(kMadeAtStart) != std::string::npos;
}

nccl::Finding note(std::string text) { return {"", nccl::Severity::kInfo, std::move(text), ""}; }

class Preview {
 public:
  /// `programs`: where the program of the workers is looked for, which no recorded machine has.
  Preview(const CommandLine& command_line, const PodFacts& pod, const Files& programs,
          const ProcessSetup& setup, bool has_run_id, nccl::MachineSource source)
      : programs_(programs),
        source_(source),
        options_(command_line.options),
        contract_(command_line.contract ? &*command_line.contract : nullptr),
        pod_(pod),
        environment_(job_environment(command_line, pod.environment)),
        context_{.options = options_,
                 .environment = environment_,
                 .setup = setup,
                 .job = "",
                 .node = "",
                 .token = "",
                 .folder = "",
                 .contract = contract_},
        driver_(make_driver(options_, contract_)),
        has_run_id_(has_run_id) {}

  Result<ShownEnvironments> show(const EnvOptions& asked) {
    if (driver_->needs().launcher) return show_launcher();
    auto plan = WorkerPlan::make(programs_, context_, driver_->needs(),
                                 {pod_.files, source_, nccl::MachineDetail::kAll});
    if (!plan) return std::move(plan).error();
    const int workers = plan->local_world_size();
    const int first = asked.all ? 0 : asked.local_rank.value_or(0);
    if (first >= workers && workers > 0) {
      return usage("--local-rank " + std::to_string(first) + ": this node has " +
                   counted(static_cast<size_t>(workers), "worker", "workers"));
    }
    plan->set_round(assumed_round(workers));
    ShownEnvironments shown;
    if (plan->fabric() != nullptr) shown.fabric = *plan->fabric();
    for (int rank = first; rank < (asked.all ? workers : std::min(workers, first + 1)); ++rank) {
      auto process = show_worker(*plan, rank);
      if (!process) return std::move(process).error();
      shown.processes.push_back(std::move(*process));
    }
    if (has_many_nodes(options_)) {
      shown.notes.push_back(
          note("ranks and sizes are those of node " + std::to_string(plan->round().node_rank) +
               " of " + std::to_string(options_.max_nodes) + " with as many workers each"));
    }
    if (options_.framework.starts_ranks() || options_.nodes.rsh)
      shown.notes.push_back(note("the agent adds how its workers reach it when it starts them"));
    return shown;
  }

 private:
  Result<ShownEnvironments> show_launcher() {
    ShownEnvironments shown;
    if (driver_->needs().leads != Leads::kNever) {
      auto launch = preview_launch(pod_.files, context_);
      if (!launch) return std::move(launch).error();
      shown.processes.push_back({.name = launch->name, .variables = shown_of(launch->decisions)});
      shown.notes.push_back(note("variables that name the network come when the nodes have met"));
      if (!launch->has_rank_agent) {
        shown.notes.push_back(
            note("no `muster rank` stands above its ranks, which have its own "
                 "environment on its node"));
      }
    } else {
      shown.notes.push_back(note("this node starts nothing: the launcher of another node does"));
    }
    MUSTER_RETURN_IF_ERROR(add_rank(shown));
    return shown;
  }

  // What a rank of this node has besides what its launcher gives it.
  Status add_rank(ShownEnvironments& shown) {
    if (!driver_->needs().workers) return {};
    auto plan = WorkerPlan::make(programs_, context_, driver_->needs(),
                                 {pod_.files, source_, nccl::MachineDetail::kAll});
    if (!plan) return std::move(plan).error();
    plan->set_round(assumed_round(plan->local_world_size()));
    if (plan->fabric() == nullptr) return {};
    shown.fabric = *plan->fabric();
    EnvironmentPlan variables;
    variables.add(EnvironmentLayer::kFabric, network_below_launcher(plan->network_variables()));
    auto decisions = shown_of(*plan, variables);
    if (!decisions.empty())
      shown.processes.push_back({.name = "rank", .variables = std::move(decisions)});
    return {};
  }

  Result<ShownProcess> show_worker(const WorkerPlan& plan, int local_rank) {
    auto variables = plan.environment(local_rank, "");
    if (!variables) return std::move(variables).error();
    if (contract_ != nullptr)
      variables->add(EnvironmentLayer::kContract, contract_variables(*contract_));
    variables->add(EnvironmentLayer::kAgent, progress_variable(std::string(kMadeAtStart)));
    MUSTER_RETURN_IF_ERROR(driver_->add_variables(plan.round(), local_rank, *variables));
    return ShownProcess{
        .name = "worker", .local_rank = local_rank, .variables = shown_of(plan, *variables)};
  }

  // With those that a configuration file sets.
  [[nodiscard]] std::vector<VariableDecision> shown_of(const WorkerPlan& plan,
                                                       const EnvironmentPlan& variables) const {
    auto decisions = shown_of(variables.merge(pod_.environment).decisions);
    if (plan.fabric() == nullptr) return decisions;
    const auto& kept = plan.fabric()->kept;
    decisions.insert(decisions.end(), kept.begin(), kept.end());
    std::ranges::sort(decisions, {}, &VariableDecision::name);
    return decisions;
  }

  // As many workers on each node as here.
  [[nodiscard]] rendezvous::Assign assumed_round(int workers) const {
    rendezvous::Assign round;
    if (has_many_nodes(options_)) {
      round.node_rank = options_.node_rank.value_or(0);
      round.node_count = options_.max_nodes;
    }
    round.rank_offset = round.node_rank * workers;
    round.role_rank_offset = round.rank_offset;
    round.world_size = round.role_world_size = round.node_count * workers;
    return round;
  }

  [[nodiscard]] std::vector<VariableDecision> shown_of(
      std::vector<VariableDecision> decisions) const {
    for (VariableDecision& decision : decisions) {
      if (decision.source == "round" && has_many_nodes(options_))
        decision.confidence = Confidence::kAssumed;
      if (is_decided_at_start(decision, has_run_id_)) decision.confidence = Confidence::kAtStart;
    }
    return decisions;
  }

  const Files& programs_;
  nccl::MachineSource source_;
  const Options& options_;
  const Contract* contract_;
  const PodFacts& pod_;
  Environment environment_;
  AgentContext context_;
  std::unique_ptr<FrameworkDriver> driver_;
  bool has_run_id_;
};

std::string printed(const ShownEnvironments& shown, const EnvOptions& asked) {
  switch (asked.form) {
    case Form::kText:
      return env_text(shown);
    case Form::kExplain:
      return env_explained(shown);
    case Form::kJson:
      return env_json(shown, asked.all);
    case Form::kExport:
      return env_export(shown);
  }
  return "";
}

Result<std::string> show(const EnvOptions& asked, const PodFacts& pod, const Files& programs,
                         const ProcessSetup& setup, nccl::MachineSource source) {
  // A run id that follows from these is none that anybody gave.
  constexpr RandomBytes kNobodys{};
  const Invocation invocation{Personality::kMuster, "", with_program(asked.rest, pod.environment)};
  auto command_line = read_command_line(invocation, pod.environment, kNobodys, &pod);
  if (!command_line) return std::move(command_line).error();
  if (command_line->print) return *std::move(command_line->print);
  const bool has_run_id = command_line->options.run_id != random_run_id(kNobodys);
  auto shown = Preview(*command_line, pod, programs, setup, has_run_id, source).show(asked);
  if (!shown) return std::move(shown).error();
  return printed(*shown, asked);
}

Result<std::string> answer(const std::vector<std::string>& words, const PodFacts& pod,
                           const ProcessSetup& setup) {
  auto asked = parse(words);
  if (!asked) return std::move(asked).error();
  if (asked->help) return std::string(kHelp);
  if (asked->root.empty()) return show(*asked, pod, pod.files, setup, nccl::MachineSource::kLive);
  const auto files = RecordedFiles::open(asked->root);
  if (!files) return Error(files.error()).with_context("--root");
  // A recorded machine has the environment and the name that it had then.
  const Environment environment = recorded_environment(*files);
  const auto name = files->read("/proc/sys/kernel/hostname");
  const PodFacts recorded{environment, *files, name ? std::string(trim(*name)) : ""};
  return show(*asked, recorded, RealFiles(), setup, nccl::MachineSource::kRecorded);
}

}  // namespace

int run_env_verb(const std::vector<std::string>& words, const PodFacts& pod,
                 const ProcessSetup& setup, std::FILE* output, std::FILE* errors) {
  const auto text = answer(words, pod, setup);
  if (!text) {
    const Error& error = text.error();
    return complain(errors, kName, error.text, exit_code_of_error(Personality::kMuster, error));
  }
  (void)std::fwrite(text->data(), 1, text->size(), output);  // nobody is left to tell
  return kExitSuccess;
}

}  // namespace muster::launcher
