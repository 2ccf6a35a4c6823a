// Options: what `muster run` was asked to do, as typed values, each with where it came from.
// flags.h reads the command line and the PET_*/MUSTER_* variables, resolve_options.h gives them
// meaning; everything else in launcher/ only reads the result.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "launcher/options/flags.h"
#include "launcher/options/framework_options.h"
#include "launcher/options/node_options.h"
#include "launcher/output/stream_mode.h"
#include "launcher/progress/progress_pattern.h"
#include "rendezvous/messages/health_checks.h"

namespace muster::launcher {

/// Under which name the binary was called. As torchrun it keeps torchrun's defaults, wording and
/// exit codes.
enum class Personality { kMuster, kTorchrun };

/// How the positional argument is started (torchrun: default, -m, --no-python, --run-path).
enum class EntryKind { kScript, kModule, kProgram, kRunPath };

/// --nproc-per-node. `number` is meaningful for kNumber only and > 0.
enum class WorkerCountKind { kNumber, kAuto, kCpu, kGpu, kXpu };
struct WorkerCount {
  WorkerCountKind kind = WorkerCountKind::kNumber;
  int number = 1;
};

enum class RendezvousBackend { kStatic, kC10d, kEtcd };
enum class NumaBinding { kNode, kSocket, kExclusive, kCoreComplex };

/// What the network libraries of workers are told (nccl/plan).
struct FabricOptions {
  bool off = false;     ///< --no-fabric-env
  std::string profile;  ///< --fabric-profile; "" = the usual file, if it is there
};

/// Whom the agent's own sidecar tells (launcher/sidecar). The flags of the same names.
struct ReportOptions {
  std::string targets;  ///< as parse_reports() takes them; "" = nobody
  std::string token_file;
  std::string ca_file;
  std::string cert_file;
  std::string key_file;
  Duration flush_timeout = std::chrono::seconds(30);  ///< after the job's end
};

/// One line of --explain.
struct ExplainedOption {
  std::string flag;    ///< "--max-restarts"
  std::string value;   ///< as text
  std::string source;  ///< "default", "command line", "PET_MAX_RESTARTS", "--standalone", ...
};

/// Effective options of one run. Defaults here are those of `muster run`; units are in the types.
struct Options {
  Personality personality = Personality::kMuster;

  // What to run
  EntryKind entry = EntryKind::kScript;
  std::string program;                 ///< script, module or program
  std::vector<std::string> arguments;  ///< passed through, before ${local_rank} substitution
  bool launch_py = false;     ///< torch.distributed.launch without --use-env: insert --local-rank=N
  std::string interpreter;    ///< named by an inner launcher's command; "" = none
  std::string torchrun_path;  ///< of torchrun or our link: python lies beside; "" = unknown
  /// RawFlags::environment
  std::vector<std::pair<std::string, std::string>> environment;

  // The job
  int min_nodes = 1;
  int max_nodes = 1;
  WorkerCount workers_per_node;
  std::string run_id;  ///< never empty: "none" becomes a random id in standalone mode
  std::string role = "default";
  std::optional<int> node_rank;  ///< orders the nodes; none = not given, static: 0

  // Rendezvous
  RendezvousBackend backend = RendezvousBackend::kC10d;
  bool standalone = false;    ///< one node, given or implied
  std::string rdzv_endpoint;  ///< "localhost:0" in standalone mode; "" = not given
  std::map<std::string, std::string> rdzv_conf;
  std::string master_addr;         ///< "" = not given
  std::optional<int> master_port;  ///< none = not given; 0 = any free port
  std::optional<std::string> local_addr;
  NodeOptions nodes;

  // Failure and stopping
  int max_restarts = 0;
  Duration restart_backoff{};  ///< before a restart; doubles each time, with jitter
  Duration grace_period = std::chrono::seconds(30);  ///< SIGTERM to SIGKILL
  std::vector<int> signals_to_handle;  ///< signals that stop the job (default TERM INT HUP QUIT)
  rendezvous::HealthChecks health_checks = rendezvous::HealthChecks::kOff;  ///< before each round
  Duration health_cooldown = std::chrono::minutes(1);  ///< of a node that is not fit, at first
  std::string termination_log;  ///< path; "" = /dev/termination-log when that exists

  // Output
  std::optional<std::string>
      log_dir;  ///< none = a fresh temporary directory, made only when needed
  StreamsByRank redirects;
  StreamsByRank tee;
  std::optional<std::string> prefix_template;  ///< none = personality's default
  std::vector<int> local_ranks_filter;         ///< empty = all ranks reach the console
  std::vector<std::string> stdout_filters;     ///< needles for filtered_stdout.log
  std::vector<std::string> stderr_filters;
  std::string run_dir;  ///< of the journal; "" = there is none
  ReportOptions report;
  std::optional<ProgressPattern> progress_pattern;
  std::optional<int> status_port;   ///< 0 = there is none; none = that depends on where this is
  std::string log_level = "info";   ///< of muster's own log: debug, info, warning, error, off
  std::string log_format = "text";  ///< text or json

  // Placement
  std::optional<NumaBinding> numa_binding;
  bool virtual_local_rank = false;
  FabricOptions fabric;
  FrameworkOptions framework;
  ManifestOptions manifest;
  bool explain = false;
  std::vector<ExplainedOption> explained;  ///< every flag, in the order of the flag table
  std::vector<std::string> warnings;  ///< accepted but without effect, one line each, for the log
};

/// The prefix of the lines that a worker's stream puts on the console; "" = none. `workers` is the
/// world size, `teed` whether --tee names that stream: torchrun prefixes only those.
[[nodiscard]] std::string console_prefix_template(const Options& options, int workers, bool teed);

}  // namespace muster::launcher
