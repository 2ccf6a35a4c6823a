#include "launcher/local/local_verb.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/process/verb_loop.h"
#include "base/text.h"
#include "launcher/command_line/command_line.h"
#include "launcher/command_line/refusal.h"
#include "launcher/local/local_nodes.h"
#include "launcher/manifest/container_command.h"
#include "launcher/manifest/workload.h"
#include "launcher/options/flag_search.h"
#include "launcher/options/job_setup.h"
#include "launcher/options/option_values.h"
#include "launcher/output/console.h"
#include "launcher/report/exit_codes.h"
#include "rendezvous/agreement/target_size.h"

namespace muster::launcher {

namespace {

constexpr const char* kHelp =
    "usage: muster local --nodes N [--chaos FAULTS] [flags of muster run] [--] SCRIPT|PROGRAM ...\n"
    "       muster local -f FILE [--nodes N] [flags of muster run] [-- SCRIPT|PROGRAM ...]\n"
    "\n"
    "Runs a job of N nodes on this machine: N agents on 127.0.1.1, 127.0.1.2, ...\n"
    "\n"
    "  --nodes N         how many agents to start\n"
    "  -f, --file FILE   a manifest (TrainingRuntime, JobSet, Job, PyTorchJob, MPIJob, TrainJob),\n"
    "                    which says the nodes, the flags and the program that are not given\n"
    "  --chaos FAULTS    what to do to them, between commas, each WHAT@WHEN\n"
    "\n"
    "`--nnodes MIN:MAX` lets the job go on with fewer nodes and take in more; without it all N\n"
    "are needed. `--run-dir D` gives each node a journal of its own, in D/node-1, D/node-2, ...\n"
    "\n"
    "WHAT                is one of\n"
    "  kill-node:N       the node is gone at once, with all its workers\n"
    "  stop-node:N       its agent is stopped (SIGSTOP) and falls silent\n"
    "  continue-node:N   it wakes\n"
    "  preempt-node:N    its agent is told to go (SIGTERM)\n"
    "  add-node[:N]      node N starts again, once it is gone; without N a further one starts\n"
    "  kill-rank:R       the worker with that RANK is killed\n"
    "  partition:N[+N]   these nodes and all others hear nothing of each other, nor do their\n"
    "                    workers. Each node is a network namespace for that (needs root), from\n"
    "                    which nothing outside can be reached\n"
    "  heal              everybody hears everybody again\n"
    "WHEN                is one of\n"
    "  5s, 500ms         so long after the start\n"
    "  round=2           when the workers of round 2 run\n"
    "  epoch=3, step=20  when somebody prints a line with that word and this number or a higher\n"
    "                    one behind it; any word or words will do\n"
    "random:seed=N[:faults=N][:every=TIME]\n"
    "                    stands for random faults, each undone before the next (3, 5 s apart);\n"
    "                    the same seed gives the same ones\n";

Error usage(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

Status set_nodes(LocalOptions& options, const std::string& value) {
  const auto nodes = parse_integer(value);
  if (!nodes || *nodes < 1 || *nodes > kMaxLocalNodes) {
    return usage("--nodes '" + value + "': not a number from 1 to " +
                 std::to_string(kMaxLocalNodes));
  }
  options.nodes = static_cast<int>(*nodes);
  return {};
}

// A word that is a flag, as it is written: "--nnodes=2", "-f" with the next word, "-fFILE".
struct Word {
  std::string name;                  // "--nnodes", "-f"
  std::optional<std::string> value;  // what is glued to it
  bool takes_next = false;           // its value is the next word
  std::string switches;              // letters in front of it in the same word: "-m" of "-mfFILE"
};

Word read_word(const std::string& word) {
  const size_t equals = std::min(word.find('='), word.size());
  const auto glued = [&word](size_t from) {
    return from < word.size() ? std::optional(word.substr(from)) : std::nullopt;
  };
  if (word.starts_with("--")) {
    const std::string name = word.substr(0, equals);
    const FlagRow* const row = find_flag(name.substr(2), Dialect::kMuster);
    const bool is_value = row != nullptr && row->kind == FlagKind::kValue;
    const auto value =
        equals == word.size() ? std::nullopt : std::optional(word.substr(equals + 1));
    return {name, value, is_value && !value, ""};
  }
  for (size_t i = 1; i < word.size(); ++i) {
    const FlagRow* const row = find_letter(word[i], Dialect::kMuster);
    if (row == nullptr || row->kind != FlagKind::kValue) continue;
    const auto value = glued(i + (i + 1 < word.size() && word[i + 1] == '=' ? 2 : 1));
    return {{'-', word[i]}, value, i + 1 == word.size(), i > 1 ? word.substr(0, i) : ""};
  }
  return {word, std::nullopt, false, ""};
}

// What the flags of `muster run` say that matters here.
struct RunFlags {
  NodeRange nodes{1, 0};  // that the job can do with; 0 = as many as are started
  bool calls_nodes = false;
};

// Where the nodes are, and which this one is, is said to each agent here.
bool is_said_here(Flag flag, const std::string& value) {
  constexpr Flag kPlaces[] = {flag::kRdzvEndpoint, flag::kHosts,      flag::kMasterAddr,
                              flag::kLocalAddr,    flag::kNodeName,   flag::kNodeRank,
                              flag::kStandalone,   flag::kRdzvBackend};
  if (flag == flag::kRdzvBackend && value == "c10d") return false;
  return std::ranges::find(kPlaces, flag) != std::end(kPlaces);
}

// `name`, with `value` behind it, may be one of them.
Status note(RunFlags& flags, const std::string& name, const std::string& value) {
  if (!name.starts_with("--")) return {};
  const FlagRow* row = find_flag(name.substr(2), Dialect::kMuster);
  if (row == nullptr) return {};
  if (is_said_here(row->flag(), value))
    return usage(name + " cannot be used here: muster local says where its nodes are");
  if (row->flag() == flag::kRsh || (row->flag() == flag::kFramework && value == "mpi"))
    flags.calls_nodes = true;
  if (row->flag() != flag::kNnodes) return {};
  auto range = parse_node_range(value);
  if (!range) return std::move(range).error().with_context("--nnodes '" + value + "'");
  flags.nodes = *range;
  return {};
}

bool is_flag(const std::string& name, Flag flag) {
  const bool is_long = name.starts_with("--");
  const FlagRow* row = is_long            ? find_flag(name.substr(2), Dialect::kMuster)
                       : name.size() == 2 ? find_letter(name[1], Dialect::kMuster)
                                          : nullptr;
  return row != nullptr && row->flag() == flag;
}

// Each flag has a variable. None: it is not set, or says nothing.
std::optional<std::string> value_of(Flag flag, const Environment& environment) {
  const auto text = environment.get(muster_variable(row_of(flag)));
  return text && !text->empty() ? std::optional(std::string(*text)) : std::nullopt;
}

// Of a manifest's job: the user's variable counts as the flag does. Without a manifest all nodes
// that are started are needed.
Status note_nodes_variable(LocalOptions& options, RunFlags& flags, const Environment& environment) {
  const FlagRow& row = row_of(flag::kNnodes);
  for (const std::string& name : {muster_variable(row), torchrun_variable(row)}) {
    const std::string value(environment.get(name).value_or(""));
    if (value.empty()) continue;
    options.words.insert(options.words.begin(), "--nnodes=" + value);
    if (Status noted = note(flags, "--nnodes", value); !noted)
      return Error(noted.error()).with_context(name);
    break;
  }
  return {};
}

void note_variables(LocalOptions& options, const Environment& environment) {
  const bool is_mpi = value_of(flag::kFramework, environment) == "mpi";
  if (is_mpi || environment.has(muster_variable(row_of(flag::kRsh)))) options.calls_nodes = true;
  if (options.run_dir.empty()) options.run_dir = value_of(flag::kRunDir, environment).value_or("");
}

// The nodes that the job can do with, as `value` says it for all that are started.
Status take_range(LocalOptions& options, RunFlags& flags, const ManifestValue& value,
                  bool is_asked) {
  const auto range = parse_node_range(value.text);
  const bool fits = range && range->min <= options.nodes && options.nodes <= range->max;
  if (!fits && is_asked) return {};
  if (!fits) {
    return usage(fmt::format("{}: {}: --nnodes '{}' must allow the {} that the manifest has",
                             options.file, value.path, value.text,
                             counted(static_cast<size_t>(options.nodes), "node", "nodes")));
  }
  flags.nodes = *range;
  if (range->min == range->max) return {};
  flags.nodes.max = options.nodes;  // nobody shall wait for more than there are
  options.nnodes = fmt::format("{}:{}", range->min, options.nodes);
  return {};
}

// What the launcher in the container was told, and then the manifest's fields.
Result<std::vector<ManifestValue>> said_values(const Workload& workload, int nodes) {
  const Replica& first = workload.replicas.front();
  const auto command = read_container_command(workload, first, std::to_string(nodes));
  if (!command) return Error(command.error());
  std::vector<ManifestValue> values;
  for (const auto& [flag, value] : command->given) {
    const bool is_open = value.text.find("$(") != std::string::npos;  // nobody sets it here
    if (value.kind != SourceKind::kContract && !is_open)
      values.push_back({flag, value.text, first.path + ": " + value.source});
  }
  values.insert(values.end(), workload.values.begin(), workload.values.end());
  return values;
}

// What the manifest says that matters here, where the user does not say it.
Status read_manifest(LocalOptions& options, RunFlags& flags) {
  struct stat about {};
  if (::stat(options.file.c_str(), &about) == 0 && !S_ISREG(about.st_mode))
    return usage(options.file + ": not a regular file, and each node reads it again");
  const auto text = RealFiles().read(options.file);
  if (!text) return Error(text.error());
  const auto workload = read_workload(*text);
  if (!workload) return Error(workload.error()).with_context(options.file);
  const bool is_asked = options.nodes > 0;
  if (!is_asked) options.nodes = node_count(*workload);
  if (options.nodes > kMaxLocalNodes) {
    return usage(fmt::format("{} asks for {} nodes: --nodes says how many to run here, at most {}",
                             options.file, options.nodes, kMaxLocalNodes));
  }
  options.kinds.clear();
  for (int rank = 0; rank < options.nodes; ++rank) {
    const Replica* const kind = &replica_of(*workload, rank);
    if (rank == 0 || kind != &replica_of(*workload, rank - 1)) options.kinds.push_back(rank);
  }
  const auto values = said_values(*workload, options.nodes);
  if (!values) return Error(values.error()).with_context(options.file);
  bool is_open = flags.nodes.max == 0;  // the first that says it counts
  for (const ManifestValue& value : *values) {
    if ((value.flag == flag::kFramework && value.text == "mpi") ||
        (value.flag == flag::kRsh && value.text != "false"))
      flags.calls_nodes = true;
    if (value.flag != flag::kNnodes || !std::exchange(is_open, false)) continue;
    MUSTER_RETURN_IF_ERROR(take_range(options, flags, value, is_asked));
  }
  if (is_asked && options.nnodes.empty()) options.nnodes = std::to_string(options.nodes);
  return {};
}

std::string but_starts(const LocalOptions& options) {
  return fmt::format(", but --nodes starts {}{}", options.nodes,
                     options.added > 0 ? fmt::format(" and --chaos adds {}", options.added) : "");
}

// A job that waits for nodes that nobody will start would wait for ever. Those that it cannot take
// are spares.
Status settle_nodes(LocalOptions& options, NodeRange range) {
  const auto adds_one = [&options](const Fault& fault) {
    return fault.kind == FaultKind::kAddNode && (fault.target == 0 || fault.target > options.nodes);
  };
  options.added =
      static_cast<int>(std::count_if(options.faults.begin(), options.faults.end(), adds_one));
  const int fewest = range.min;
  const int most = range.max == 0 ? options.nodes : range.max;
  options.spares = std::max(0, options.nodes + options.added - most);
  if (fewest <= options.nodes + options.added) return {};
  return usage(fmt::format("--nnodes wants at least {}{}",
                           counted(static_cast<size_t>(fewest), "node", "nodes"),
                           but_starts(options)));
}

Status take_flag(LocalOptions& options, RunFlags& flags, const Word& word) {
  const std::string value = word.value.value_or("");
  if (word.name == "--nodes") MUSTER_RETURN_IF_ERROR(set_nodes(options, value));
  if (is_flag(word.name, flag::kRunDir)) options.run_dir = value;
  if (is_flag(word.name, flag::kFile)) options.file = value;
  return note(flags, word.name, value);
}

// The own flags stand among those of `muster run`, in any order, before the program.
Result<LocalOptions> parse(const std::vector<std::string>& words, const Environment& environment) {
  LocalOptions options;
  std::string chaos;
  RunFlags flags;
  options.file = value_of(flag::kFile, environment).value_or("");
  size_t next = 0;
  while (next < words.size() && words[next].starts_with('-') && words[next] != "--") {
    Word word = read_word(words[next]);
    options.help = options.help || word.name == "--help" || word.name == "-h";
    // Each node is told another folder, and the file with its rank.
    const bool ours = word.name == "--nodes" || word.name == "--chaos" ||
                      is_flag(word.name, flag::kRunDir) || is_flag(word.name, flag::kFile);
    word.takes_next = word.takes_next || (ours && !word.value);
    const size_t taken = word.takes_next ? 2 : 1;
    if (next + taken > words.size()) return usage(word.name + " needs a value");
    if (word.takes_next) word.value = words[next + 1];
    if (word.name == "--chaos") chaos = *word.value;
    MUSTER_RETURN_IF_ERROR(take_flag(options, flags, word));
    if (!ours)
      options.words.insert(options.words.end(), &words[next], &words[next] + taken);
    else if (!word.switches.empty())
      options.words.push_back(word.switches);
    next += taken;
  }
  if (options.help) return options;
  if (options.file.empty()) {
    options.nnodes = std::to_string(options.nodes);
  } else {
    if (flags.nodes.max == 0)
      MUSTER_RETURN_IF_ERROR(note_nodes_variable(options, flags, environment));
    MUSTER_RETURN_IF_ERROR(read_manifest(options, flags));
  }
  if (options.nodes == 0)
    return usage("--nodes N says how many nodes to run, or -f FILE a manifest");
  auto faults = parse_chaos(chaos, options.nodes);
  if (!faults) return std::move(faults).error();
  options.faults = std::move(*faults);
  MUSTER_RETURN_IF_ERROR(settle_nodes(options, flags.nodes));
  options.calls_nodes = flags.calls_nodes;
  options.words.insert(options.words.end(), words.begin() + static_cast<std::ptrdiff_t>(next),
                       words.end());
  return options;
}

Result<int> run(const LocalOptions& options, const Environment& environment,
                const ProcessSetup& setup) {
  auto verb = VerbLoop::create();
  if (!verb) return std::move(verb).error();
  Console console((*verb)->loop());
  log::set_sink([&console](std::string_view line) { console.write_agent_line(line); });
  LocalNodes nodes((*verb)->loop(), (*verb)->network(), console, options, environment, setup);
  Status done = nodes.start();
  if (done) {
    done = (*verb)->run(setup.signal_fd.get(),
                        [&nodes](const ReceivedSignal& signal) { nodes.handle_signal(signal); });
  }
  log::set_sink({});
  if (!done) return std::move(done).error();
  return nodes.exit_code();
}

// In a network namespace an agent cannot ask the kernel who calls it: that knows only the sockets
// of the agent's own namespace.
Status check_partitions(const LocalOptions& options) {
  const Fault* const partition = find_partition(options.faults);
  if (partition == nullptr || !options.calls_nodes) return {};
  return usage("--chaos '" + to_string(*partition) +
               "': not with --rsh or --framework mpi, whose nodes must share a network");
}

// Images have programs that a desk has not. "" = it is here, or it is looked for on PATH.
std::string missing_program(const Options& options) {
  const bool is_path = options.program.find('/') != std::string::npos ||
                       options.entry == EntryKind::kScript || options.entry == EntryKind::kRunPath;
  if (options.program.empty() || options.entry == EntryKind::kModule || !is_path) return "";
  const std::string& folder = options.manifest.working_dir;
  const bool is_whole = folder.empty() || options.program.starts_with('/');
  const std::string whole = is_whole ? options.program : folder + "/" + options.program;
  return RealFiles().exists(whole) ? "" : whole;
}

// What is wrong with the words for the agents is said once, not by each of them, and so is what
// they ask to be told instead of a job (--explain). None: it may run.
Result<std::optional<std::string>> check_words(LocalOptions& options, int node_rank,
                                               const Environment& environment) {
  std::vector<std::string> words{"--contract=none",        "--rdzv-backend=c10d",
                                 "--rdzv-id=local",        "--rdzv-endpoint=127.0.1.1:29400",
                                 "--local-addr=127.0.1.1", "--node-name=node-1"};
  if (!options.nnodes.empty()) words.push_back("--nnodes=" + options.nnodes);
  if (!options.file.empty())
    words.insert(words.end(), {"--file=" + options.file, fmt::format("--node-rank={}", node_rank)});
  words.insert(words.end(), options.words.begin(), options.words.end());
  auto command_line = read_command_line({Personality::kMuster, "muster", words}, environment, {});
  if (!command_line) return std::move(command_line).error();
  if (command_line->print) return std::move(command_line->print);
  options.status_port = command_line->options.status_port.value_or(0);
  const std::string missing = options.file.empty() ? "" : missing_program(command_line->options);
  if (!missing.empty()) {
    return Error{
        Code::kExec, ENOENT,
        options.file + ": program '" + missing + "' is not here: say another one behind --"};
  }
  const auto job = job_options(command_line->options, false);
  if (!job) return Error(job.error());
  const int most = options.nodes + options.added + (job->rule.has_apart() ? 1 : 0);
  if (!job->sizes_known || largest_allowed(*job, most)) return std::optional<std::string>();
  return usage("the job takes " + sizes_text(*job) + but_starts(options));
}

// Of one node of each kind that a manifest has.
Result<std::optional<std::string>> check_all(LocalOptions& options,
                                             const Environment& environment) {
  MUSTER_RETURN_IF_ERROR(check_partitions(options));
  for (const int node_rank : options.kinds) {
    auto asked = check_words(options, node_rank, environment);
    if (!asked || *asked) return asked;
  }
  return std::optional<std::string>();
}

}  // namespace

int run_local_verb(const std::vector<std::string>& words, const Environment& environment,
                   const ProcessSetup& setup) {
  auto options = parse(words, environment);
  if (options) note_variables(*options, environment);
  if (options && options->help) {
    (void)std::fputs(kHelp, stdout);  // nobody is left to tell
    return kExitSuccess;
  }
  const auto asked = options ? check_all(*options, environment)
                             : Result<std::optional<std::string>>(options.error());
  if (asked && *asked) {
    (void)std::fputs((*asked)->c_str(), stdout);
    return kExitSuccess;
  }
  auto code = asked ? run(*options, environment, setup) : Result<int>(asked.error());
  if (code) return *code;
  return refuse_to_start({words, environment}, "muster", code.error(),
                         exit_code_of_error(Personality::kMuster, code.error()), stderr);
}

}  // namespace muster::launcher
