#include "launcher/flag_table.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kDefaultSignals = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

// Names, defaults and variables of torchrun's rows: torch.distributed.run 1.13 to 2.14.
constexpr std::array kRows = {
    FlagRow{.flag = Flag::kModule,
            .name = "module",
            .section = Section::kProgram,
            .kind = FlagKind::kSwitch,
            .letter = 'm',
            .help = "the program is a Python module: python -u -m NAME"},
    FlagRow{.flag = Flag::kNoPython,
            .name = "no-python",
            .section = Section::kProgram,
            .kind = FlagKind::kSwitch,
            .help = "start the program directly, without an interpreter"},
    FlagRow{.flag = Flag::kRunPath,
            .name = "run-path",
            .section = Section::kProgram,
            .kind = FlagKind::kSwitch,
            .help = "run the script with runpy.run_path; beats --no-python and --module"},
    FlagRow{.flag = Flag::kUseEnv,
            .name = "use-env",
            .section = Section::kProgram,
            .kind = FlagKind::kSwitch,
            .origin = Origin::kLaunch,
            .help = "do not pass --local-rank to the script"},
    FlagRow{.flag = Flag::kFramework,
            .name = "framework",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "pytorch",
            .placeholder = "NAME",
            .help = "pytorch (also for plain commands) or mpi: mpirun on the node of rank 0 starts "
                    "the ranks on all nodes"},
    FlagRow{.flag = Flag::kMpi,
            .name = "mpi",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "auto",
            .placeholder = "NAME",
            .help = "with --framework mpi: whose mpirun, openmpi, mpich or intel; auto is the one "
                    "that is found"},
    FlagRow{.flag = Flag::kMpiLaunch,
            .name = "mpi-launch",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "mpirun",
            .placeholder = "HOW",
            .help = "with --framework mpi: who starts the ranks: mpirun; the agents, with pmi "
                    "(MPICH, Intel MPI) or pmix (Open MPI); or the command, a launcher itself, "
                    "which is started anew when nodes change (command) or goes on (elastic)"},
    FlagRow{.flag = Flag::kMpiRole,
            .name = "mpi-role",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "any",
            .placeholder = "ROLE",
            .help = "with --framework mpi: launcher (without ranks), launcher-worker, worker "
                    "(--rdzv-endpoint says where to find it) or any (alike, the first launches)"},
    FlagRow{.flag = Flag::kContract,
            .name = "contract",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "auto",
            .placeholder = "NAME",
            .help =
                "for MPI: auto, what the controller that made this pod says of it (mpi-operator, "
                "Kubeflow Trainer, Volcano) stands for flags that are not given; or none"},
    FlagRow{.flag = Flag::kMpiTransport,
            .name = "mpi-transport",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "rsh",
            .placeholder = "HOW",
            .help = "mpirun's way to other nodes: rsh (our agents), ssh (OpenSSH, run by our "
                    "agents), sshd (the nodes run it and no agent) or sshd-unverified (and nobody "
                    "knows their host keys)"},
    FlagRow{.flag = Flag::kMpiSshKeys,
            .name = "mpi-ssh-keys",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .placeholder = "PATH",
            .help =
                "for ssh and sshd: a mounted folder with keys, or a private key; else each node "
                "makes its own (ssh), or the controller's mounted one counts (sshd)"},
    FlagRow{.flag = Flag::kMpiSshPort,
            .name = "mpi-ssh-port",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "0",
            .placeholder = "N",
            .help = "with ssh the port of this node's SSH server, 0 is any; with sshd that of the "
                    "nodes' servers, 0 is 22"},
    FlagRow{.flag = Flag::kMpiStartTimeout,
            .name = "mpi-start-timeout",
            .section = Section::kProgram,
            .origin = Origin::kMuster,
            .fallback = "5m",
            .placeholder = "TIME",
            .help = "the job has failed when after so long not all ranks of an mpirun have begun, "
                    "or a node's PMIx server is not ready (pmix); at least 1s"},

    FlagRow{.flag = Flag::kNnodes,
            .name = "nnodes",
            .section = Section::kJob,
            .fallback = "1:1",
            .placeholder = "N|MIN:MAX",
            .help = "number of nodes, or the range of it"},
    FlagRow{.flag = Flag::kNprocPerNode,
            .name = "nproc-per-node",
            .section = Section::kJob,
            .fallback = "1",
            .placeholder = "N|KIND",
            .help = "workers per node: a number, auto, cpu, gpu or xpu"},
    FlagRow{.flag = Flag::kNnodesStep,
            .name = "nnodes-step",
            .section = Section::kJob,
            .origin = Origin::kMuster,
            .fallback = "1",
            .placeholder = "N",
            .help = "with MIN:MAX: nodes run in steps of N above MIN"},
    FlagRow{.flag = Flag::kNnodesAllowed,
            .name = "nnodes-allowed",
            .section = Section::kJob,
            .origin = Origin::kMuster,
            .placeholder = "LIST",
            .help = "with MIN:MAX: only these numbers of nodes, such as 2,4,8"},
    FlagRow{.flag = Flag::kSpares,
            .name = "spares",
            .section = Section::kJob,
            .origin = Origin::kMuster,
            .fallback = "0",
            .placeholder = "N",
            .help = "how many nodes there may be beyond the maximum, to stand in for lost ones"},
    FlagRow{.flag = Flag::kNodeName,
            .name = "node-name",
            .section = Section::kJob,
            .origin = Origin::kMuster,
            .placeholder = "NAME",
            .help = "name of this node, which orders the ranks; the host name when left out"},
    FlagRow{.flag = Flag::kRsh,
            .name = "rsh",
            .section = Section::kJob,
            .kind = FlagKind::kSwitch,
            .origin = Origin::kMuster,
            .help = "workers may run commands on other nodes with `muster rsh`, as mpirun does"},
    FlagRow{.flag = Flag::kRdzvId,
            .name = "rdzv-id",
            .section = Section::kJob,
            .fallback = "none",
            .placeholder = "ID",
            .help = "id of the run; random on one node when none is given; wanted with etcd"},
    FlagRow{.flag = Flag::kRole,
            .name = "role",
            .section = Section::kJob,
            .empty_is_a_value = true,
            .fallback = "default",
            .placeholder = "NAME",
            .help = "role of the workers, for ROLE_NAME and log prefixes"},

    FlagRow{.flag = Flag::kStandalone,
            .name = "standalone",
            .section = Section::kRendezvous,
            .kind = FlagKind::kSwitch,
            .help = "one node with a free port; other rendezvous flags are ignored"},
    FlagRow{.flag = Flag::kRdzvBackend,
            .name = "rdzv-backend",
            .section = Section::kRendezvous,
            .fallback = "c10d",
            .torchrun_fallback = "static",
            .placeholder = "NAME",
            .help = "static, c10d, etcd or etcd-v2"},
    FlagRow{.flag = Flag::kRdzvEndpoint,
            .name = "rdzv-endpoint",
            .section = Section::kRendezvous,
            .placeholder = "HOST[:PORT],...",
            .help = "where the nodes meet, in order of preference: names, addresses, worker-[0-3], "
                    "worker-%d, dns:SERVICE; [ADDRESS]:PORT for IPv6, port 29400 when left out"},
    FlagRow{.flag = Flag::kHosts,
            .name = "hosts",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .placeholder = "LIST|@FILE",
            .help = "all nodes, written as for --rdzv-endpoint; the first three of them may lead. "
                    "A file, one node per line, may change while the job runs"},
    FlagRow{.flag = Flag::kRdzvConf,
            .name = "rdzv-conf",
            .section = Section::kRendezvous,
            .placeholder = "K=V,...",
            .help = "settings of the rendezvous, times in seconds: join_timeout=600,..."},
    FlagRow{.flag = Flag::kNodeRank,
            .name = "node-rank",
            .section = Section::kRendezvous,
            .fallback = "0",
            .placeholder = "N",
            .help = "rank of this node; a place in their order, if the backend is not static"},
    FlagRow{.flag = Flag::kMasterAddr,
            .name = "master-addr",
            .section = Section::kRendezvous,
            .torchrun_fallback = "127.0.0.1",
            .placeholder = "HOST",
            .help = "address of node rank 0, for the static backend"},
    FlagRow{.flag = Flag::kMasterPort,
            .name = "master-port",
            .section = Section::kRendezvous,
            .torchrun_fallback = "29500",
            .placeholder = "PORT",
            .help = "port of node rank 0, for the static backend; 0 = any free port"},
    FlagRow{.flag = Flag::kLocalAddr,
            .name = "local-addr",
            .section = Section::kRendezvous,
            .placeholder = "HOST",
            .help = "address under which this node announces itself"},
    FlagRow{.flag = Flag::kAdmit,
            .name = "admit",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .placeholder = "NETWORK,...",
            .help = "further addresses from which workers may reach the store, as 10.0.0.0/8: for "
                    "nodes that do not come from the address they announced"},
    FlagRow{.flag = Flag::kLease,
            .name = "lease",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .fallback = "30s",
            .placeholder = "TIME",
            .help = "a node silent for so long is out of the job; at least 2s"},
    FlagRow{.flag = Flag::kReplaceWait,
            .name = "replace-wait",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .fallback = "30s",
            .placeholder = "TIME",
            .help = "how long a lost node's place is kept before going on with fewer"},
    FlagRow{.flag = Flag::kScaleUpInterval,
            .name = "scale-up-interval",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .fallback = "5m",
            .placeholder = "TIME",
            .help = "least time between two growths of a running job"},
    FlagRow{.flag = Flag::kScaleUpQuiet,
            .name = "scale-up-quiet",
            .section = Section::kRendezvous,
            .origin = Origin::kMuster,
            .fallback = "1m",
            .placeholder = "TIME",
            .help = "no growth for so long after any start of the workers"},

    FlagRow{.flag = Flag::kMaxRestarts,
            .name = "max-restarts",
            .section = Section::kFailure,
            .fallback = "0",
            .placeholder = "N",
            .help = "how often the workers may be started again"},
    FlagRow{.flag = Flag::kRestartBackoff,
            .name = "restart-backoff",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .fallback = "0s",
            .placeholder = "TIME",
            .help = "pause before a restart, doubled each time; half to all of it"},
    FlagRow{.flag = Flag::kRestartWindow,
            .name = "restart-window",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .placeholder = "TIME",
            .help = "of the restarts only those this recent count; with it at most 256"},
    FlagRow{.flag = Flag::kPreemptSignal,
            .name = "preempt-signal",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .placeholder = "SIGNAL",
            .help = "what tells workers to save when a node is told to leave; the signal that came "
                    "when left out"},
    FlagRow{.flag = Flag::kPreemptNotify,
            .name = "preempt-notify",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .fallback = "leaver",
            .placeholder = "WHOM",
            .help = "whose workers are told then: leaver (those of the node that leaves) or all"},
    FlagRow{.flag = Flag::kGracePeriod,
            .name = "grace-period",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .fallback = "30s",
            .placeholder = "TIME",
            .help = "SIGTERM to SIGKILL, at most 5m; where another node is lost 2 s at most"},
    FlagRow{.flag = Flag::kShutdownTimeout,
            .name = "shutdown-timeout",
            .section = Section::kFailure,
            .other_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
            .fallback = "30",
            .placeholder = "SECONDS",
            .help = "torchrun's name of --grace-period"},
    FlagRow{.flag = Flag::kSignalsToHandle,
            .name = "signals-to-handle",
            .section = Section::kFailure,
            .fallback = kDefaultSignals,
            .placeholder = "LIST",
            .help = "signals that stop the job"},
    FlagRow{.flag = Flag::kTerminationLog,
            .name = "termination-log",
            .section = Section::kFailure,
            .origin = Origin::kMuster,
            .placeholder = "PATH",
            .help = "file for the last words; /dev/termination-log where that exists"},

    FlagRow{.flag = Flag::kLogDir,
            .name = "log-dir",
            .section = Section::kOutput,
            .placeholder = "PATH",
            .help = "folder for the workers' output; /dev/null turns files off"},
    FlagRow{.flag = Flag::kRedirects,
            .name = "redirects",
            .section = Section::kOutput,
            .letter = 'r',
            .fallback = "0",
            .placeholder = "MASK",
            .help = "streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 both, or 0:1,1:3 "
                    "by local rank"},
    FlagRow{.flag = Flag::kTee,
            .name = "tee",
            .section = Section::kOutput,
            .letter = 't',
            .fallback = "0",
            .placeholder = "MASK",
            .help = "streams that go to files and to the console, as --redirects"},
    FlagRow{.flag = Flag::kLogLinePrefixTemplate,
            .name = "log-line-prefix-template",
            .section = Section::kOutput,
            .other_variable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
            .placeholder = "TEXT",
            .help = "prefix of console lines, with ${role_name}, ${local_rank}, ${rank}, "
                    "${hostname}, ${node}"},
    FlagRow{.flag = Flag::kLocalRanksFilter,
            .name = "local-ranks-filter",
            .section = Section::kOutput,
            .placeholder = "LIST",
            .help = "only these local ranks reach the console"},
    FlagRow{.flag = Flag::kDuplicateStdoutFilters,
            .name = "duplicate-stdout-filters",
            .section = Section::kOutput,
            .placeholder = "LIST",
            .help = "teed stdout lines with one of these words also go to one file; ,, is a comma"},
    FlagRow{.flag = Flag::kDuplicateStderrFilters,
            .name = "duplicate-stderr-filters",
            .section = Section::kOutput,
            .placeholder = "LIST",
            .help = "the same for stderr"},
    FlagRow{.flag = Flag::kLogLevel,
            .name = "log-level",
            .section = Section::kOutput,
            .origin = Origin::kMuster,
            .other_variable = "LOGLEVEL",
            .fallback = "info",
            .torchrun_fallback = "warning",
            .placeholder = "LEVEL",
            .help = "of Muster's own log: debug, info, warning, error or off"},
    FlagRow{.flag = Flag::kLogFormat,
            .name = "log-format",
            .section = Section::kOutput,
            .origin = Origin::kMuster,
            .fallback = "text",
            .placeholder = "FORMAT",
            .help = "of Muster's own log: text or json"},

    FlagRow{.flag = Flag::kNumaBinding,
            .name = "numa-binding",
            .section = Section::kPlacement,
            .pet = false,
            .placeholder = "KIND",
            .help = "keep each worker near its device: node, socket, exclusive or core-complex"},
    FlagRow{.flag = Flag::kVirtualLocalRank,
            .name = "virtual-local-rank",
            .section = Section::kPlacement,
            .kind = FlagKind::kSwitch,
            .help = "LOCAL_RANK is 0 everywhere and each worker sees one device"},

    FlagRow{.flag = Flag::kMonitorInterval,
            .name = "monitor-interval",
            .section = Section::kIgnored,
            .fallback = "0.1",
            .placeholder = "SECONDS",
            .help = "nothing is polled here"},
    FlagRow{.flag = Flag::kStartMethod,
            .name = "start-method",
            .section = Section::kIgnored,
            .fallback = "spawn",
            .placeholder = "NAME",
            .help = "spawn, fork or forkserver: workers are always new processes"},
    FlagRow{.flag = Flag::kEventLogHandler,
            .name = "event-log-handler",
            .section = Section::kIgnored,
            .fallback = "null",
            .placeholder = "NAME",
            .help = "handlers are Python plug-ins of torchrun"},
    FlagRow{.flag = Flag::kLogsSpecs,
            .name = "logs-specs",
            .section = Section::kIgnored,
            .pet = false,
            .placeholder = "NAME",
            .help = "log layouts are Python plug-ins of torchrun"},

    FlagRow{.flag = Flag::kExplain,
            .name = "explain",
            .section = Section::kOther,
            .kind = FlagKind::kSwitch,
            .origin = Origin::kMuster,
            .help = "print each effective option with its source, run nothing"},
    FlagRow{.flag = Flag::kHelp,
            .name = "help",
            .section = Section::kOther,
            .kind = FlagKind::kRequest,
            .letter = 'h',
            .help = "print this text; --help=markdown prints it as a table"},
    FlagRow{.flag = Flag::kVersion,
            .name = "version",
            .section = Section::kOther,
            .kind = FlagKind::kRequest,
            .origin = Origin::kMuster,
            .help = "print the version"},
    FlagRow{.flag = Flag::kPrintCompletion,
            .name = "print-completion",
            .section = Section::kOther,
            .kind = FlagKind::kRequest,
            .placeholder = "SHELL",
            .help = "print completions for a shell (bash)"},
};

std::string variable_name(std::string_view prefix, std::string_view flag_name) {
  std::string text = to_upper(flag_name);
  std::replace(text.begin(), text.end(), '-', '_');
  return std::string(prefix) + text;
}

}  // namespace

std::string_view to_string(Section section) {
  switch (section) {
    case Section::kProgram:
      return "What to run";
    case Section::kJob:
      return "The job";
    case Section::kRendezvous:
      return "Rendezvous";
    case Section::kFailure:
      return "Failing and stopping";
    case Section::kOutput:
      return "Output";
    case Section::kPlacement:
      return "Placement";
    case Section::kIgnored:
      return "Accepted without effect";
    case Section::kOther:
      return "Information";
  }
  return "";
}

std::span<const FlagRow> flag_table() { return kRows; }

const FlagRow& row_of(Flag flag) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [flag](const FlagRow& candidate) {
    return candidate.flag == flag;
  });
  MUSTER_CHECK(row != kRows.end());
  return *row;
}

std::string long_name(const FlagRow& row) { return "--" + std::string(row.name); }

std::string muster_variable(const FlagRow& row) {
  return row.kind == FlagKind::kRequest ? "" : variable_name("MUSTER_", row.name);
}

std::string torchrun_variable(const FlagRow& row) {
  const bool has_one = row.pet && row.origin == Origin::kTorchrun && row.kind != FlagKind::kRequest;
  return has_one ? variable_name("PET_", row.name) : "";
}

std::string_view default_text(const FlagRow& row, Dialect dialect) {
  if (dialect == Dialect::kMuster || !row.torchrun_fallback) return row.fallback;
  return *row.torchrun_fallback;
}

}  // namespace muster::launcher
