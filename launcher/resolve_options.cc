#include "launcher/resolve_options.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>

#include "launcher/entry_kind.h"
#include "launcher/flag_reader.h"
#include "launcher/flag_table.h"
#include "launcher/job_setup.h"
#include "launcher/option_values.h"
#include "launcher/prefix_template.h"
#include "launcher/resolve_framework.h"
#include "launcher/resolve_rendezvous.h"
#include "rendezvous/round_policy.h"

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

struct FilterRow {
  Flag flag;
  std::vector<std::string> Options::*words;
  bool Streams::*stream;
  std::string_view mask;  // of --tee
};
constexpr FilterRow kFilters[] = {
    {Flag::kDuplicateStdoutFilters, &Options::stdout_filters, &Streams::out, "1"},
    {Flag::kDuplicateStderrFilters, &Options::stderr_filters, &Streams::err, "2"},
};

bool is_any(const StreamsByRank& streams, bool Streams::*stream) {
  return streams.otherwise.*stream ||
         std::ranges::any_of(streams.by_local_rank,
                             [stream](const auto& entry) { return entry.second.*stream; });
}

/// One resolution. Every read_ method runs even after a wrong value (flag_reader.h); what compares
/// flags with each other runs only when each one is right by itself.
class Resolver {
 public:
  Resolver(const RawFlags& raw, Personality personality, const RandomBytes& random)
      : raw_(raw),
        personality_(personality),
        flags_(raw, personality),
        rendezvous_(flags_, options_, random) {}
  Result<Options> resolve();

 private:
  void read_program();
  void read_job();
  void read_failure();
  void read_grace_period();
  void read_output();
  void warn_of_idle_filters();
  void read_log_level();
  void read_placement();
  void read_ignored();
  void check_local_ranks();
  void refuse_part(Flag flag, const std::string& complaint, std::string_view otherwise);

  const RawFlags& raw_;
  const Personality personality_;
  Options options_;
  FlagReader flags_;
  RendezvousResolver rendezvous_;
};

Result<Options> Resolver::resolve() {
  options_.personality = personality_;
  options_.explain = flags_.is_on(Flag::kExplain);
  read_program();
  options_.framework = read_framework(flags_, options_.program, options_.arguments);
  read_job();
  rendezvous_.read();
  read_failure();
  read_output();
  read_placement();
  read_ignored();
  if (!flags_.error()) rendezvous_.settle();
  const bool alone = options_.standalone || !may_have_others(options_);
  if (options_.nodes.rsh && alone && !options_.framework.starts_launcher())
    flags_.warn(flags_.label(Flag::kRsh) + " has no effect: there is one node");
  if (options_.framework.starts_launcher() && !options_.nodes.rsh) {
    options_.nodes.rsh = true;
    flags_.derive(Flag::kRsh, "true", flags_.label(Flag::kFramework) + " mpi");
  }
  if (!flags_.error()) check_local_ranks();
  if (flags_.error()) return *flags_.error();
  options_.warnings = flags_.warnings();
  options_.explained = flags_.explained();
  return std::move(options_);
}

void Resolver::read_program() {
  options_.entry = entry_kind(raw_);
  options_.program = raw_.program.value_or("");
  options_.arguments = raw_.arguments;
  options_.interpreter = raw_.interpreter;
  options_.torchrun_path = raw_.torchrun_path;
  options_.launch_py = flags_.dialect() == Dialect::kLaunch && !flags_.is_on(Flag::kUseEnv);
  const bool module = flags_.is_on(Flag::kModule);
  const bool no_python = flags_.is_on(Flag::kNoPython);
  // --run-path silently beats both in torchrun; a word about it costs nothing.
  if (options_.entry == EntryKind::kRunPath) {
    if (module || no_python)
      flags_.warn("--run-path beats " + flags_.label(module ? Flag::kModule : Flag::kNoPython));
  } else if (module && no_python) {
    flags_.fail(flags_.label(Flag::kNoPython) + " and " + flags_.label(Flag::kModule) +
                " exclude each other: a module needs an interpreter");
  } else if (no_python && options_.launch_py) {
    flags_.fail(flags_.label(Flag::kNoPython) +
                " needs --use-env: only a Python script takes --local-rank");
  }
  if (!options_.explain && options_.program.empty()) {
    flags_.fail("nothing to run: a script, module or program must follow the flags");
  }
}

void Resolver::read_job() {
  const NodeRange nodes = flags_.read(Flag::kNnodes, parse_node_range);
  options_.min_nodes = nodes.min;
  options_.max_nodes = nodes.max;
  options_.workers_per_node = flags_.read(Flag::kNprocPerNode, parse_worker_count);
  if (options_.framework.uses_sshd()) {
    check_sshd(flags_, options_.workers_per_node);
    options_.min_nodes = options_.max_nodes = 1;  // of ours
  }
  options_.nodes.step = flags_.read(Flag::kNnodesStep, parse_node_number);
  options_.nodes.allowed = flags_.read(Flag::kNnodesAllowed, parse_node_numbers);
  options_.nodes.spares = flags_.read(Flag::kSpares, parse_count);
  options_.nodes.name = flags_.read(Flag::kNodeName, parse_node_name);
  options_.nodes.rsh = flags_.is_on(Flag::kRsh);
  options_.run_id = flags_.text(Flag::kRdzvId);
  options_.role = flags_.text(Flag::kRole);
}

void Resolver::read_failure() {
  options_.max_restarts = flags_.read(Flag::kMaxRestarts, parse_count);
  options_.restart_backoff = flags_.read(Flag::kRestartBackoff, parse_pause);
  if (!flags_.text(Flag::kRestartWindow).empty())
    options_.nodes.restart_window = flags_.read(Flag::kRestartWindow, parse_restart_window);
  constexpr auto kMostInWindow = static_cast<int>(rendezvous::kMaxRestartAges);
  if (options_.nodes.restart_window && options_.max_restarts > kMostInWindow)
    flags_.fail(Flag::kMaxRestarts, fmt::format("at most {} with {}", kMostInWindow,
                                                flags_.label(Flag::kRestartWindow)));
  if (!flags_.text(Flag::kPreemptSignal).empty())
    options_.nodes.preempt_signal = flags_.read(Flag::kPreemptSignal, parse_handled_signal);
  options_.nodes.preempt_notify_all = flags_.read(Flag::kPreemptNotify, parse_preempt_notify);
  read_grace_period();
  SignalList list = flags_.read(Flag::kSignalsToHandle, parse_signals);
  options_.signals_to_handle = std::move(list.signals);
  for (const std::string& name : list.unknown)
    refuse_part(Flag::kSignalsToHandle, "'" + name + "' is no signal that can be handled",
                "ignored");
  options_.termination_log = flags_.text(Flag::kTerminationLog);
}

/// A part of a value that means nothing. torchrun goes on without it, and what was written for it,
/// command lines and variables, must; what was written for us is refused.
void Resolver::refuse_part(Flag flag, const std::string& complaint, std::string_view otherwise) {
  const GivenValue* given = flags_.find(flag);
  const bool ours = given == nullptr || given->kind == SourceKind::kCommandLine ||
                    given->source.starts_with("MUSTER_");
  if (flags_.dialect() == Dialect::kMuster && ours) return flags_.fail(flag, complaint);
  flags_.warn(flags_.label(flag) + ": " + complaint + ", " + std::string(otherwise));
}

/// Two flags for one thing: the stronger source wins, --grace-period when they are equal. torchrun
/// knows no longest time: what is more is cut.
void Resolver::read_grace_period() {
  const Duration grace = flags_.read(Flag::kGracePeriod, parse_grace_period);
  const Duration timeout = flags_.read(Flag::kShutdownTimeout, parse_shutdown_timeout);
  const GivenValue* const ours = flags_.find(Flag::kGracePeriod);
  const GivenValue* const theirs = flags_.find(Flag::kShutdownTimeout);
  const bool theirs_wins = theirs != nullptr && (ours == nullptr || ours->kind < theirs->kind);
  options_.grace_period = theirs_wins ? std::min(timeout, kMaxGracePeriod) : grace;
  if (theirs_wins) {
    const bool cut = timeout > kMaxGracePeriod;
    const std::string most = fmt::format("{:g}", to_seconds(kMaxGracePeriod));
    const std::string label = flags_.label(Flag::kShutdownTimeout);
    if (cut) flags_.warn(label + ": more than " + most + " seconds, " + most + " are used");
    flags_.derive(Flag::kGracePeriod, cut ? most : theirs->text, label);
  }
  if (ours != nullptr && theirs != nullptr && grace != timeout) {
    flags_.warn(flags_.label(theirs_wins ? Flag::kGracePeriod : Flag::kShutdownTimeout) +
                " has no effect: " +
                flags_.label(theirs_wins ? Flag::kShutdownTimeout : Flag::kGracePeriod) +
                " says otherwise");
  }
}

void Resolver::read_output() {
  const std::string log_dir = flags_.text(Flag::kLogDir);
  if (!log_dir.empty()) options_.log_dir = log_dir;
  options_.redirects = flags_.read(Flag::kRedirects, parse_streams);
  options_.tee = flags_.read(Flag::kTee, parse_streams);
  if (log_dir == kNullDevice) {
    // As torchrun 2.13: without files there is nothing to redirect to.
    options_.redirects = options_.tee = StreamsByRank{};
    for (const Flag flag : {Flag::kRedirects, Flag::kTee}) {
      flags_.derive(flag, "0", flags_.label(Flag::kLogDir) + " " + log_dir);
    }
  }
  const GivenValue* const prefix = flags_.find(Flag::kLogLinePrefixTemplate);
  // An empty template means "the default" to torchrun, and "no prefix" to us.
  if (prefix != nullptr && (!prefix->text.empty() || personality_ == Personality::kMuster)) {
    options_.prefix_template = prefix->text;
    const std::string_view stranger = unknown_macro(prefix->text);
    if (!stranger.empty())
      refuse_part(Flag::kLogLinePrefixTemplate,
                  "'" + std::string(stranger) + "' is none of " + std::string(kPrefixMacros),
                  "stays as it is");
  }
  options_.local_ranks_filter = flags_.read(Flag::kLocalRanksFilter, parse_local_ranks);
  options_.stdout_filters = flags_.read(Flag::kDuplicateStdoutFilters, parse_filters);
  options_.stderr_filters = flags_.read(Flag::kDuplicateStderrFilters, parse_filters);
  warn_of_idle_filters();
  read_log_level();
  options_.log_format = flags_.read(Flag::kLogFormat, parse_log_format);
}

/// Only lines that go both to a file and to the console pass through the filters.
void Resolver::warn_of_idle_filters() {
  for (const FilterRow& row : kFilters) {
    if ((options_.*row.words).empty() || is_any(options_.tee, row.stream)) continue;
    const std::string need =
        options_.log_dir == kNullDevice
            ? "files, which " + flags_.label(Flag::kLogDir) + " /dev/null turns off"
            : "--tee " + std::string(row.mask) + " or 3";
    flags_.warn(flags_.label(row.flag) + " has no effect: it needs " + need);
  }
}

/// LOGLEVEL belongs to everybody, so a word that only others understand must not end the job.
void Resolver::read_log_level() {
  const FlagRow& row = row_of(Flag::kLogLevel);
  const GivenValue* const given = flags_.find(Flag::kLogLevel);
  if (given != nullptr && given->source == row.other_variable && !parse_log_level(given->text)) {
    options_.log_level = flags_.fallback(Flag::kLogLevel);
    flags_.warn(given->source + " '" + given->text + "' is no level of ours, using " +
                options_.log_level);
    flags_.derive(Flag::kLogLevel, options_.log_level, "default");
    return;
  }
  options_.log_level = flags_.read(Flag::kLogLevel, parse_log_level);
}

void Resolver::read_placement() {
  if (!flags_.text(Flag::kNumaBinding).empty()) {
    options_.numa_binding = flags_.read(Flag::kNumaBinding, parse_numa_binding);
  }
  options_.virtual_local_rank = flags_.is_on(Flag::kVirtualLocalRank);
}

void Resolver::read_ignored() {
  flags_.check(Flag::kMonitorInterval, check_monitor_interval);
  flags_.check(Flag::kStartMethod, check_start_method);
  for (const WithoutEffect& row : kWithoutEffect) {
    const GivenValue* const given = flags_.find(row.flag);
    if (given == nullptr || given->text == row.harmless) continue;
    flags_.warn(flags_.label(row.flag) + " has no effect: " + std::string(row.why));
  }
}

void Resolver::check_local_ranks() {
  // The other kinds are counted on the machine, later.
  if (options_.workers_per_node.kind != WorkerCountKind::kNumber) return;
  const int workers = options_.workers_per_node.number;
  const auto warn_beyond = [this, workers](Flag flag, int local_rank) {
    if (local_rank < workers) return;
    flags_.warn(fmt::format("{}: there is no local rank {}, the last one is {}", flags_.label(flag),
                            local_rank, workers - 1));
  };
  for (const auto& [rank, streams] : options_.redirects.by_local_rank)
    warn_beyond(Flag::kRedirects, rank);
  for (const auto& [rank, streams] : options_.tee.by_local_rank) warn_beyond(Flag::kTee, rank);
  for (const int rank : options_.local_ranks_filter) warn_beyond(Flag::kLocalRanksFilter, rank);
}

}  // namespace

Result<Options> resolve_options(const RawFlags& raw, Personality personality,
                                const RandomBytes& random) {
  return Resolver(raw, personality, random).resolve();
}

}  // namespace muster::launcher
