// The flags that say what is run and where on this node; those that do nothing here; and those that
// print something instead of running. Names, defaults and variables of torchrun's rows here and in
// the other groups: torch.distributed.run 1.13 to 2.14.
#include "launcher/options/completion.h"
#include "launcher/options/entry_kind.h"
#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

// The four say together what the program is (entry_kind.h), so none has a field of its own.
constexpr FlagRow kProgramRows[] = {
    {.name = "module",
     .kind = FlagKind::kSwitch,
     .letter = 'm',
     .help = "the program is a Python module: python -u -m NAME"},
    {.name = "no-python",
     .kind = FlagKind::kSwitch,
     .help = "start the program directly, without an interpreter"},
    {.name = "run-path",
     .kind = FlagKind::kSwitch,
     .help = "run the script with runpy.run_path; beats --no-python and --module"},
    {.name = "file",
     .origin = Origin::kMuster,
     .letter = 'f',
     .placeholder = "FILE",
     .into = checked<as_text>,
     .help = "what a manifest asks for stands for flags that are not given, and for the program: a "
             "TrainingRuntime, JobSet, Job, PyTorchJob, MPIJob or TrainJob"},
    {.name = "use-env",
     .kind = FlagKind::kSwitch,
     .origin = Origin::kLaunch,
     .help = "do not pass --local-rank to the script"},
};

constexpr Choice<NumaBinding> kNumaBindings[] = {{"node", NumaBinding::kNode},
                                                 {"socket", NumaBinding::kSocket},
                                                 {"exclusive", NumaBinding::kExclusive},
                                                 {"core-complex", NumaBinding::kCoreComplex}};

constexpr FlagRow kPlacementRows[] = {
    {.name = "numa-binding",
     .pet = false,
     .placeholder = "KIND",
     .into = to<&Options::numa_binding, unless_empty<parse_choice<kNumaBindings>>,
                kNamesOf<kNumaBindings>>,
     .help = "keep each worker near its device: node, socket, exclusive or core-complex"},
    {.name = "virtual-local-rank",
     .kind = FlagKind::kSwitch,
     .into = to<&Options::virtual_local_rank, as_switch>,
     .help = "LOCAL_RANK is 0 everywhere and each worker sees one device"},
};

// The ranks below an mpirun would not have them.
void check_placement(FlagReader& flags, Options& options) {
  if (!options.framework.starts_launcher()) return;
  constexpr const char* kInstead = "; with --mpi-launch pmi or pmix the agents do both";
  if (options.numa_binding) {
    flags.fail(flags.label(flag::kNumaBinding) +
               ": mpirun starts the ranks, and binds them by words of its own, such as mpirun "
               "--bind-to numa" +
               kInstead);
  }
  if (options.virtual_local_rank) {
    flags.fail(flags.label(flag::kVirtualLocalRank) +
               ": mpirun starts the ranks, and nobody narrows their devices" + kInstead);
  }
}

constexpr Choice<int> kStartMethods[] = {{"spawn", 0}, {"fork", 0}, {"forkserver", 0}};

Status check_monitor_interval(std::string_view text) {
  const auto seconds = parse_number(trim(text));
  if (!seconds || *seconds <= 0) return wrong("not a number of seconds above 0");
  return {};
}

constexpr FlagRow kIgnoredRows[] = {
    {.name = "monitor-interval",
     .fallback = "0.1",
     .placeholder = "SECONDS",
     .into = checked<check_monitor_interval>,
     .no_effect = {"a worker's end is noticed at once, nothing is polled"},
     .help = "nothing is polled here"},
    {.name = "start-method",
     .fallback = "spawn",
     .placeholder = "NAME",
     .into = checked<parse_choice<kStartMethods>, kNamesOf<kStartMethods>>,
     .no_effect = {"workers are always new processes"},
     .help = "spawn, fork or forkserver: workers are always new processes"},
    {.name = "event-log-handler",
     .fallback = "null",
     .placeholder = "NAME",
     .no_effect = {"event handlers are Python plug-ins of torchrun", "null"},
     .help = "handlers are Python plug-ins of torchrun"},
    {.name = "logs-specs",
     .pet = false,
     .placeholder = "NAME",
     .no_effect = {"log layouts are Python plug-ins of torchrun"},
     .help = "log layouts are Python plug-ins of torchrun"},
};

constexpr FlagRow kInformationRows[] = {
    {.name = "explain",
     .kind = FlagKind::kSwitch,
     .origin = Origin::kMuster,
     .into = to<&Options::explain, as_switch>,
     .help = "print each effective option with its source, run nothing"},
    {.name = "help",
     .kind = FlagKind::kRequest,
     .letter = 'h',
     .help = "print this text; --help=markdown prints it as a table"},
    {.name = "version",
     .kind = FlagKind::kRequest,
     .origin = Origin::kMuster,
     .help = "print the version"},
    {.name = "print-completion",
     .kind = FlagKind::kRequest,
     .placeholder = "SHELL",
     .into = {nullptr, kCompletedShells},
     .help = "print completions for a shell (bash, zsh)"},
};

void check_program(FlagReader& flags, Options& options) {
  const RawFlags& raw = flags.raw();
  options.entry = entry_kind(raw);
  options.program = raw.program.value_or("");
  options.arguments = raw.arguments;
  options.interpreter = raw.interpreter;
  options.torchrun_path = raw.torchrun_path;
  options.environment = raw.environment;
  options.manifest = raw.manifest;
  options.launch_py = flags.dialect() == Dialect::kLaunch && !flags.is_on(flag::kUseEnv);
  const bool module = flags.is_on(flag::kModule);
  const bool no_python = flags.is_on(flag::kNoPython);
  // --run-path silently beats both in torchrun; a word about it costs nothing.
  if (options.entry == EntryKind::kRunPath) {
    if (module || no_python)
      flags.warn("--run-path beats " + flags.label(module ? flag::kModule : flag::kNoPython));
  } else if (module && no_python) {
    flags.fail(flags.label(flag::kNoPython) + " and " + flags.label(flag::kModule) +
               " exclude each other: a module needs an interpreter");
  } else if (no_python && options.launch_py) {
    flags.fail(flags.label(flag::kNoPython) +
               " needs --use-env: only a Python script takes --local-rank");
  }
  if (!flags.is_on(flag::kExplain) && options.program.empty())
    flags.fail("nothing to run: a script, module or program must follow the flags");
}

}  // namespace

constexpr FlagGroup kProgramFlags{"What to run", kProgramRows, check_program};
constexpr FlagGroup kPlacementFlags{"Placement", kPlacementRows, check_placement};
constexpr FlagGroup kIgnoredFlags{"Accepted without effect", kIgnoredRows};
constexpr FlagGroup kInformationFlags{"Information", kInformationRows};

}  // namespace muster::launcher
