#include "launcher/resolve_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/socket.h"
#include "base/text.h"
#include "launcher/entry_kind.h"
#include "launcher/flag_search.h"
#include "launcher/flag_table.h"
#include "launcher/flags.h"
#include "launcher/framework_values.h"
#include "launcher/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kNullDevice = "/dev/null";

struct WithoutEffect {
  Flag flag;
  std::string_view harmless;  // the value that needs no warning
  std::string_view why;
};
constexpr WithoutEffect kWithoutEffect[] = {
    {Flag::kMonitorInterval, "", "a worker's end is noticed at once, nothing is polled"},
    {Flag::kStartMethod, "", "workers are always new processes"},
    {Flag::kEventLogHandler, "null", "event handlers are Python plug-ins of torchrun"},
    {Flag::kLogsSpecs, "", "log layouts are Python plug-ins of torchrun"},
};

/// One resolution. Every read_ method runs even after a wrong value, which is kept and reported at
/// the end: so a flag is read in one expression. The settle_ and check_ methods compare flags with
/// each other and run only when each one is right by itself.
class Resolver {
 public:
  Resolver(const RawFlags& raw, Personality personality, const RandomBytes& random)
      : raw_(raw), personality_(personality), random_(random) {}
  Result<Options> resolve();

 private:
  void read_program();
  void read_framework();
  void read_job();
  void read_rendezvous();
  void read_failure();
  void read_grace_period();
  void read_output();
  void read_log_level();
  void read_placement();
  void read_ignored();

  void settle_rendezvous();
  /// Who asked for standalone mode: "--standalone", a variable, "one node"; "" = nobody.
  [[nodiscard]] std::string standalone_source() const;
  void settle_standalone(const std::string& source);
  void settle_run_id(const std::string& source);
  void check_static();
  void check_endpoints();
  void check_local_ranks();
  void explain();

  [[nodiscard]] std::string_view fallback(const FlagRow& row) const;
  [[nodiscard]] std::string text(Flag flag) const;
  /// What to call the flag in a message: the variable's name when that gave the value.
  [[nodiscard]] std::string label(Flag flag) const;
  [[nodiscard]] bool on_command_line(Flag flag) const;
  template <typename T>
  T read(Flag flag, Result<T> (*parse)(std::string_view));
  void check(Flag flag, Status (*checker)(std::string_view));
  void fail(std::string line);
  /// "--nnodes '2:1': MIN is larger than MAX".
  void fail(Flag flag, std::string_view complaint);
  void warn(std::string line) { options_.warnings.push_back(std::move(line)); }
  void derive(Flag flag, std::string value, std::string source);

  const RawFlags& raw_;
  const Personality personality_;
  const RandomBytes& random_;
  Options options_;
  std::vector<Endpoint> endpoints_;
  std::map<Flag, ExplainedOption> derived_;  // what other flags decided
  std::optional<Error> first_error_;
};

Result<Options> Resolver::resolve() {
  options_.personality = personality_;
  options_.warnings = raw_.warnings;
  options_.explain = raw_.is_on(Flag::kExplain);
  read_program();
  read_framework();
  read_job();
  read_rendezvous();
  read_failure();
  read_output();
  read_placement();
  read_ignored();
  if (!first_error_) settle_rendezvous();
  const bool alone = options_.standalone || options_.max_nodes == 1;
  if (options_.nodes.rsh && alone && !options_.framework.starts_launcher())
    warn(label(Flag::kRsh) + " has no effect: there is one node");
  if (options_.framework.starts_launcher() && !options_.nodes.rsh) {
    options_.nodes.rsh = true;
    derive(Flag::kRsh, "true", label(Flag::kFramework) + " mpi");
  }
  if (!first_error_) check_local_ranks();
  if (first_error_) return *std::move(first_error_);
  explain();
  return std::move(options_);
}

void Resolver::read_program() {
  options_.entry = entry_kind(raw_);
  options_.program = raw_.program.value_or("");
  options_.arguments = raw_.arguments;
  options_.interpreter = raw_.interpreter;
  options_.torchrun_path = raw_.torchrun_path;
  options_.launch_py = raw_.dialect == Dialect::kLaunch && !raw_.is_on(Flag::kUseEnv);
  const bool module = raw_.is_on(Flag::kModule);
  const bool no_python = raw_.is_on(Flag::kNoPython);
  // --run-path silently beats both in torchrun; a word about it costs nothing.
  if (options_.entry == EntryKind::kRunPath) {
    if (module || no_python)
      warn("--run-path beats " + label(module ? Flag::kModule : Flag::kNoPython));
  } else if (module && no_python) {
    fail(label(Flag::kNoPython) + " and " + label(Flag::kModule) +
         " exclude each other: a module needs an interpreter");
  } else if (no_python && options_.launch_py) {
    fail(label(Flag::kNoPython) + " needs --use-env: only a Python script takes --local-rank");
  }
  if (!options_.explain && options_.program.empty()) {
    fail("nothing to run: a script, module or program must follow the flags");
  }
}

void Resolver::read_framework() {
  FrameworkOptions& chosen = options_.framework;
  chosen.framework = read(Flag::kFramework, parse_framework);
  chosen.mpi = read(Flag::kMpi, parse_mpi);
  chosen.mpi_launch = read(Flag::kMpiLaunch, parse_mpi_launch);
  if (const auto implied = implied_launch(options_.program, options_.arguments);
      implied && chosen.is_mpi() && raw_.find(Flag::kMpiLaunch) == nullptr) {
    chosen.mpi_launch = *implied;
    derive(Flag::kMpiLaunch, chosen.is_elastic() ? "elastic" : "command", options_.program);
  }
  chosen.role = read(Flag::kMpiRole, parse_mpi_role);
  check(Flag::kContract, check_contract);
  chosen.mpi_start_timeout = read(Flag::kMpiStartTimeout, parse_mpi_start_timeout);
  chosen.mpi_transport = read(Flag::kMpiTransport, parse_mpi_transport);
  chosen.mpi_ssh_keys = text(Flag::kMpiSshKeys);
  chosen.mpi_ssh_port = read(Flag::kMpiSshPort, parse_port);
  if (const auto problem = framework_problem(chosen))
    fail(label(problem->flag) + " " + std::string(problem->text));
  for (const auto& [flag, lacks] : idle_flags(chosen)) {
    if (on_command_line(flag)) warn(label(flag) + " has no effect without " + std::string(lacks));
  }
  if (!chosen.is_mpi() || chosen.uses_sshd()) chosen.role = MpiRole::kAny;
}

void Resolver::read_job() {
  const NodeRange nodes = read(Flag::kNnodes, parse_node_range);
  options_.min_nodes = options_.framework.uses_sshd() ? 1 : nodes.min;
  options_.max_nodes = options_.framework.uses_sshd() ? 1 : nodes.max;
  options_.workers_per_node = read(Flag::kNprocPerNode, parse_worker_count);
  options_.nodes.step = read(Flag::kNnodesStep, parse_node_number);
  options_.nodes.allowed = read(Flag::kNnodesAllowed, parse_node_numbers);
  options_.nodes.spares = read(Flag::kSpares, parse_count);
  options_.nodes.name = text(Flag::kNodeName);
  options_.nodes.rsh = raw_.is_on(Flag::kRsh);
  options_.run_id = text(Flag::kRdzvId);
  options_.role = text(Flag::kRole);
}

void Resolver::read_rendezvous() {
  options_.backend = read(Flag::kRdzvBackend, parse_backend);
  options_.rdzv_endpoint = text(Flag::kRdzvEndpoint);
  endpoints_ = read(Flag::kRdzvEndpoint, parse_endpoints);
  options_.nodes.hosts = text(Flag::kHosts);
  options_.nodes.admit = read(Flag::kAdmit, parse_networks);
  options_.rdzv_conf = read(Flag::kRdzvConf, parse_rdzv_conf);
  for (const auto& [key, value] : options_.rdzv_conf) {
    if (!is_known_rdzv_key(key)) {
      warn(label(Flag::kRdzvConf) + ": key '" + key + "' is unknown and has no effect");
    }
  }
  options_.node_rank = read(Flag::kNodeRank, parse_count);
  if (raw_.find(Flag::kNodeRank) != nullptr) options_.nodes.index = options_.node_rank;
  // Whether somebody gave them matters (standalone mode), so torchrun's defaults stay out here.
  if (raw_.find(Flag::kMasterAddr) != nullptr) options_.master_addr = text(Flag::kMasterAddr);
  if (raw_.find(Flag::kMasterPort) != nullptr)
    options_.master_port = read(Flag::kMasterPort, parse_port);
  const std::string local_addr = text(Flag::kLocalAddr);
  if (!local_addr.empty()) options_.local_addr = local_addr;
  if (!local_addr.empty() && options_.max_nodes == 1 && !parse_numeric_host(local_addr)) {
    warn(label(Flag::kLocalAddr) + " has no effect on one node unless it is an address");
  }
  options_.nodes.lease = read(Flag::kLease, parse_lease);
  options_.nodes.replace_wait = read(Flag::kReplaceWait, parse_pause);
  options_.nodes.scale_up_interval = read(Flag::kScaleUpInterval, parse_pause);
  options_.nodes.scale_up_quiet = read(Flag::kScaleUpQuiet, parse_pause);
}

void Resolver::read_failure() {
  options_.max_restarts = read(Flag::kMaxRestarts, parse_count);
  options_.restart_backoff = read(Flag::kRestartBackoff, parse_pause);
  if (!text(Flag::kRestartWindow).empty())
    options_.nodes.restart_window = read(Flag::kRestartWindow, parse_pause);
  if (!text(Flag::kPreemptSignal).empty())
    options_.nodes.preempt_signal = read(Flag::kPreemptSignal, parse_handled_signal);
  options_.nodes.preempt_notify_all = read(Flag::kPreemptNotify, parse_preempt_notify);
  read_grace_period();
  SignalList list = read(Flag::kSignalsToHandle, parse_signals);
  options_.signals_to_handle = std::move(list.signals);
  for (const std::string& name : list.unknown) {
    warn(label(Flag::kSignalsToHandle) + ": '" + name +
         "' is no signal that can be handled, ignored");
  }
  options_.termination_log = text(Flag::kTerminationLog);
}

/// Two flags for one thing: the stronger source wins, --grace-period when they are equal.
void Resolver::read_grace_period() {
  const Duration grace = read(Flag::kGracePeriod, parse_grace_period);
  const Duration timeout = read(Flag::kShutdownTimeout, parse_shutdown_timeout);
  const GivenValue* const ours = raw_.find(Flag::kGracePeriod);
  const GivenValue* const theirs = raw_.find(Flag::kShutdownTimeout);
  const bool theirs_wins = theirs != nullptr && (ours == nullptr || ours->kind < theirs->kind);
  options_.grace_period = theirs_wins ? timeout : grace;
  if (theirs_wins) derive(Flag::kGracePeriod, theirs->text, label(Flag::kShutdownTimeout));
  if (ours != nullptr && theirs != nullptr && grace != timeout) {
    warn(label(theirs_wins ? Flag::kGracePeriod : Flag::kShutdownTimeout) + " has no effect: " +
         label(theirs_wins ? Flag::kShutdownTimeout : Flag::kGracePeriod) + " says otherwise");
  }
}

void Resolver::read_output() {
  const std::string log_dir = text(Flag::kLogDir);
  if (!log_dir.empty()) options_.log_dir = log_dir;
  options_.redirects = read(Flag::kRedirects, parse_streams);
  options_.tee = read(Flag::kTee, parse_streams);
  if (log_dir == kNullDevice) {
    // As torchrun 2.13: without files there is nothing to redirect to.
    options_.redirects = options_.tee = StreamsByRank{};
    for (const Flag flag : {Flag::kRedirects, Flag::kTee}) {
      derive(flag, "0", label(Flag::kLogDir) + " " + log_dir);
    }
  }
  const GivenValue* const prefix = raw_.find(Flag::kLogLinePrefixTemplate);
  // An empty template means "the default" to torchrun, and "no prefix" to us.
  if (prefix != nullptr && (!prefix->text.empty() || personality_ == Personality::kMuster)) {
    options_.prefix_template = prefix->text;
  }
  options_.local_ranks_filter = read(Flag::kLocalRanksFilter, parse_local_ranks);
  options_.stdout_filters = read(Flag::kDuplicateStdoutFilters, parse_filters);
  options_.stderr_filters = read(Flag::kDuplicateStderrFilters, parse_filters);
  read_log_level();
  options_.log_format = read(Flag::kLogFormat, parse_log_format);
}

/// LOGLEVEL belongs to everybody, so a word that only others understand must not end the job.
void Resolver::read_log_level() {
  const FlagRow& row = row_of(Flag::kLogLevel);
  const GivenValue* const given = raw_.find(Flag::kLogLevel);
  if (given != nullptr && given->source == row.other_variable && !parse_log_level(given->text)) {
    options_.log_level = fallback(row);
    warn(given->source + " '" + given->text + "' is no level of ours, using " + options_.log_level);
    derive(Flag::kLogLevel, options_.log_level, "default");
    return;
  }
  options_.log_level = read(Flag::kLogLevel, parse_log_level);
}

void Resolver::read_placement() {
  if (!text(Flag::kNumaBinding).empty()) {
    options_.numa_binding = read(Flag::kNumaBinding, parse_numa_binding);
  }
  options_.virtual_local_rank = raw_.is_on(Flag::kVirtualLocalRank);
}

void Resolver::read_ignored() {
  check(Flag::kMonitorInterval, check_monitor_interval);
  check(Flag::kStartMethod, check_start_method);
  for (const WithoutEffect& row : kWithoutEffect) {
    const GivenValue* const given = raw_.find(row.flag);
    if (given == nullptr || given->text == row.harmless) continue;
    warn(label(row.flag) + " has no effect: " + std::string(row.why));
  }
}

void Resolver::settle_rendezvous() {
  if (raw_.find(Flag::kNnodes) == nullptr && !options_.nodes.hosts.empty() &&
      !raw_.is_on(Flag::kStandalone)) {
    return fail(label(Flag::kHosts) + " lists the nodes of a job: --nnodes must say how many " +
                "of them it has");
  }
  const std::string source = standalone_source();
  const bool named = !endpoints_.empty() || !options_.nodes.hosts.empty();
  const bool c10d = options_.backend == RendezvousBackend::kC10d;
  if (const auto why = role_problem(options_.framework.role, {c10d, named, source}); !why.empty())
    return fail(Flag::kMpiRole, why);
  if (!source.empty()) return settle_standalone(source);
  settle_run_id("");
  const bool is_static = options_.backend == RendezvousBackend::kStatic;
  const bool meets_at_endpoint = !is_static && options_.nodes.hosts.empty();
  if (!endpoints_.empty() && !options_.nodes.hosts.empty())
    warn(label(Flag::kHosts) + " has no effect: " + label(Flag::kRdzvEndpoint) + " counts");
  if (options_.max_nodes == 1 && endpoints_.size() > 1)
    warn(label(Flag::kRdzvEndpoint) + " names several hosts, but --nnodes is 1: it runs alone");
  if (meets_at_endpoint && endpoints_.empty()) {
    if (options_.backend == RendezvousBackend::kEtcd) {
      return fail(label(Flag::kRdzvBackend) + " " + text(Flag::kRdzvBackend) +
                  " needs --rdzv-endpoint");
    }
    // As muster run, the nodes are discovered when no endpoint is given.
    if (raw_.dialect != Dialect::kMuster) {
      options_.rdzv_endpoint = "localhost:" + std::to_string(kDefaultRendezvousPort);
      derive(Flag::kRdzvEndpoint, options_.rdzv_endpoint, label(Flag::kRdzvBackend) + " c10d");
    }
  }
  check_endpoints();
  if (is_static) check_static();
}

std::string Resolver::standalone_source() const {
  if (raw_.is_on(Flag::kStandalone)) return label(Flag::kStandalone);
  if (options_.framework.uses_sshd()) return label(Flag::kMpiTransport) + " sshd";
  // torchrun 2.12+ implies it with its default, static; c10d is Muster's default.
  const bool fits =
      options_.backend == RendezvousBackend::kStatic ||
      (options_.backend == RendezvousBackend::kC10d && raw_.dialect == Dialect::kMuster);
  const bool alone = options_.max_nodes == 1 && !options_.framework.needs_others() &&
                     endpoints_.empty() && !options_.master_port;
  return fits && alone ? "one node" : "";
}

void Resolver::settle_standalone(const std::string& source) {
  // torchrun waits here for nodes that cannot know the port. "1:4" can start alone, and does.
  if (options_.min_nodes > 1) {
    return fail(source + " means one node, but " + label(Flag::kNnodes) + " is '" +
                text(Flag::kNnodes) + "'");
  }
  // Variables are often set by a controller for all its jobs; only what was typed is worth a word.
  for (const Flag flag : {Flag::kRdzvEndpoint, Flag::kMasterPort}) {
    if (on_command_line(flag)) warn(label(flag) + " has no effect with " + source);
  }
  // Pods that each believe to be a job of one train side by side unnoticed.
  if (options_.node_rank > 0) {
    warn(label(Flag::kNodeRank) + " " + text(Flag::kNodeRank) +
         " has no effect: with one node, this one is a job of its own (is --nnodes missing?)");
  }
  if (options_.max_nodes > 1) derive(Flag::kNnodes, "1:1", source);
  if (options_.node_rank > 0) derive(Flag::kNodeRank, "0", source);
  settle_run_id(source);
  options_.standalone = true;
  options_.backend = RendezvousBackend::kC10d;
  options_.rdzv_endpoint = "localhost:0";
  options_.max_nodes = 1;
  options_.node_rank = 0;
  options_.master_addr.clear();
  options_.master_port.reset();
  derive(Flag::kStandalone, "true", source);
  derive(Flag::kRdzvBackend, "c10d", source);
  derive(Flag::kRdzvEndpoint, options_.rdzv_endpoint, source);
  derive(Flag::kMasterAddr, "", source);
  derive(Flag::kMasterPort, "", source);
}

/// `source` of standalone mode; "" = not standalone.
void Resolver::settle_run_id(const std::string& source) {
  const bool empty = options_.run_id.empty();
  const bool unnamed = options_.run_id == fallback(row_of(Flag::kRdzvId));
  // Under the same id all jobs of an etcd would be one.
  if (unnamed && source.empty() && options_.backend == RendezvousBackend::kEtcd) {
    const std::string problem = label(Flag::kRdzvBackend) + " " + text(Flag::kRdzvBackend) +
                                " without --rdzv-id: every such job has the id 'none'";
    raw_.dialect == Dialect::kMuster ? fail(problem) : warn(problem);
  }
  // torchrun replaces even an id that was given.
  const bool replaced = !source.empty() && (unnamed || raw_.dialect != Dialect::kMuster);
  if (empty) warn(label(Flag::kRdzvId) + " is empty, using a random id");
  if (!empty && !replaced) return;
  options_.run_id = random_run_id(random_);
  derive(Flag::kRdzvId, options_.run_id, source.empty() ? "random" : "random, " + source);
}

void Resolver::check_static() {
  if (!endpoints_.empty() && !endpoints_.front().port) {
    return fail(Flag::kRdzvEndpoint, "the static backend needs HOST:PORT");
  }
  if (options_.node_rank >= options_.max_nodes) {
    return fail(Flag::kNodeRank, fmt::format("--nnodes is {}, so the largest is {}",
                                             options_.max_nodes, options_.max_nodes - 1));
  }
  if (options_.min_nodes != options_.max_nodes) {
    warn(fmt::format("{} {}: the static backend always waits for all {} nodes",
                     label(Flag::kNnodes), text(Flag::kNnodes), options_.max_nodes));
  }
}

/// Port 0 is chosen by whoever listens; other nodes cannot know it.
void Resolver::check_endpoints() {
  if (options_.min_nodes == 1) return;
  constexpr std::string_view kUnknown = "port 0 is any free port, which other nodes cannot know";
  if (options_.master_port == 0) return fail(Flag::kMasterPort, kUnknown);
  for (const Endpoint& endpoint : endpoints_) {
    if (endpoint.port == 0) return fail(Flag::kRdzvEndpoint, kUnknown);
  }
}

void Resolver::check_local_ranks() {
  // The other kinds are counted on the machine, later.
  if (options_.workers_per_node.kind != WorkerCountKind::kNumber) return;
  const int workers = options_.workers_per_node.number;
  const auto warn_beyond = [this, workers](Flag flag, int local_rank) {
    if (local_rank < workers) return;
    warn(fmt::format("{}: there is no local rank {}, the last one is {}", label(flag), local_rank,
                     workers - 1));
  };
  for (const auto& [rank, streams] : options_.redirects.by_local_rank)
    warn_beyond(Flag::kRedirects, rank);
  for (const auto& [rank, streams] : options_.tee.by_local_rank) warn_beyond(Flag::kTee, rank);
  for (const int rank : options_.local_ranks_filter) warn_beyond(Flag::kLocalRanksFilter, rank);
}

void Resolver::explain() {
  for (const FlagRow& row : flag_table()) {
    if (row.kind == FlagKind::kRequest || !is_known(row, raw_.dialect)) continue;
    const auto derived = derived_.find(row.flag);
    if (derived != derived_.end()) {
      options_.explained.push_back(derived->second);
      continue;
    }
    const GivenValue* const given = raw_.find(row.flag);
    options_.explained.push_back(
        {long_name(row), text(row.flag), given == nullptr ? "default" : given->source});
  }
}

std::string_view Resolver::fallback(const FlagRow& row) const {
  if (row.kind == FlagKind::kSwitch) return "false";
  const bool ours = row.origin == Origin::kMuster;
  const Dialect called_as =
      personality_ == Personality::kTorchrun ? Dialect::kTorchrun : Dialect::kMuster;
  return default_text(row, ours ? called_as : raw_.dialect);
}

std::string Resolver::text(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  return given == nullptr ? std::string(fallback(row_of(flag))) : given->text;
}

std::string Resolver::label(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  const bool variable = given != nullptr && given->kind == SourceKind::kEnvironment;
  return variable ? given->source : long_name(row_of(flag));
}

bool Resolver::on_command_line(Flag flag) const {
  const GivenValue* const given = raw_.find(flag);
  return given != nullptr && given->kind == SourceKind::kCommandLine;
}

template <typename T>
T Resolver::read(Flag flag, Result<T> (*parse)(std::string_view)) {
  Result<T> value = parse(text(flag));
  if (value) return *std::move(value);
  fail(flag, value.error().text);
  return T{};
}

void Resolver::check(Flag flag, Status (*checker)(std::string_view)) {
  const Status status = checker(text(flag));
  if (!status) fail(flag, status.error().text);
}

void Resolver::fail(std::string line) {
  if (!first_error_) first_error_ = Error{Code::kUsage, 0, std::move(line)};
}

void Resolver::fail(Flag flag, std::string_view complaint) {
  fail(label(flag) + " '" + text(flag) + "': " + std::string(complaint));
}

void Resolver::derive(Flag flag, std::string value, std::string source) {
  derived_[flag] = {long_name(row_of(flag)), std::move(value), std::move(source)};
}

}  // namespace

Result<Options> resolve_options(const RawFlags& raw, Personality personality,
                                const RandomBytes& random) {
  return Resolver(raw, personality, random).resolve();
}

}  // namespace muster::launcher
