// The flags that say where the output of workers and of Muster goes.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"
#include "launcher/output/prefix_template.h"
#include "launcher/progress/progress_pattern.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kNullDevice = "/dev/null";

constexpr std::array<std::string_view, 5> kLogLevels = {"debug", "info", "warning", "error", "off"};

constexpr Choice<std::string_view> kLogFormats[] = {{"text", "text"}, {"json", "json"}};

constexpr FlagRow kRows[] = {
    {.name = "log-dir",
     .placeholder = "PATH",
     .into = to<&Options::log_dir, unless_empty<as_text>>,
     .help = "folder for the workers' output, which also goes to the console unless --redirects or "
             "--tee say otherwise; /dev/null turns files off"},
    {.name = "redirects",
     .letter = 'r',
     .fallback = "0",
     .placeholder = "MASK",
     .into = to<&Options::redirects, parse_streams>,
     .help = "streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 both, or 0:1,1:3 by "
             "local rank"},
    {.name = "tee",
     .letter = 't',
     .fallback = "0",
     .placeholder = "MASK",
     .into = to<&Options::tee, parse_streams>,
     .help = "streams that go to files and to the console, as --redirects"},
    {.name = "log-line-prefix-template",
     .other_variable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
     .placeholder = "TEXT",
     .into = to<&Options::prefix_template, as_text>,
     .fallback_counts = false,
     .help = "prefix of console lines, with ${role_name}, ${local_rank}, ${rank}, ${hostname}, "
             "${node}"},
    {.name = "local-ranks-filter",
     .placeholder = "LIST",
     .into = to<&Options::local_ranks_filter, parse_local_ranks>,
     .help = "only these local ranks reach the console"},
    {.name = "duplicate-stdout-filters",
     .placeholder = "LIST",
     .into = to<&Options::stdout_filters, parse_filters>,
     .help = "teed stdout lines with one of these words also go to one file; ,, is a comma"},
    {.name = "duplicate-stderr-filters",
     .placeholder = "LIST",
     .into = to<&Options::stderr_filters, parse_filters>,
     .help = "the same for stderr"},
    {.name = "run-dir",
     .origin = Origin::kMuster,
     .placeholder = "PATH",
     .into = to<&Options::run_dir, as_text>,
     .help =
         "folder of the journal, events.jsonl: what happened on this node, for programs; of one "
         "agent at a time"},
    {.name = "progress-pattern",
     .origin = Origin::kMuster,
     .placeholder = "REGEX",
     .into = to<&Options::progress_pattern, unless_empty<ProgressPattern::parse>>,
     .help = "regular expression (RE2) of the lines that say how far a worker is; its groups are "
             "called step and, if there are more, total and epoch"},
    {.name = "status-port",
     .origin = Origin::kMuster,
     .placeholder = "PORT",
     .into = to<&Options::status_port, parse_port>,
     .fallback_counts = false,
     .help = "HTTP port for /metrics, /status, /healthz, /readyz and /events; 8080 in pods, none "
             "elsewhere; 0 = none"},
    {.name = "log-level",
     .origin = Origin::kMuster,
     .other_variable = "LOGLEVEL",
     .fallback = "info",
     .torchrun_fallback = "warning",
     .placeholder = "LEVEL",
     .into = to<&Options::log_level, parse_log_level, kLogLevels>,
     .foreign = {"is no level of ours", "LOG_LEVEL"},
     .help = "of Muster's own log: debug, info, warning, error or off"},
    {.name = "log-format",
     .origin = Origin::kMuster,
     .fallback = "text",
     .placeholder = "FORMAT",
     .into = one_of<&Options::log_format, kLogFormats>,
     .foreign = {"is no format of ours", "LOG_FORMAT"},
     .help = "of Muster's own log: text or json"},
};

struct FilterRow {
  Flag flag;
  std::vector<std::string> Options::*words;
  bool Streams::*stream;
  std::string_view mask;  // of --tee
};
constexpr FilterRow kFilters[] = {
    {flag::kDuplicateStdoutFilters, &Options::stdout_filters, &Streams::out, "1"},
    {flag::kDuplicateStderrFilters, &Options::stderr_filters, &Streams::err, "2"},
};

bool is_any(const StreamsByRank& streams, bool Streams::*stream) {
  return streams.otherwise.*stream ||
         std::ranges::any_of(streams.by_local_rank,
                             [stream](const auto& entry) { return entry.second.*stream; });
}

/// Only lines that go both to a file and to the console pass through the filters.
void warn_of_idle_filters(FlagReader& flags, const Options& options) {
  for (const FilterRow& row : kFilters) {
    if ((options.*row.words).empty() || is_any(options.tee, row.stream)) continue;
    const std::string need =
        options.log_dir == kNullDevice
            ? "files, which " + flags.label(flag::kLogDir) + " /dev/null turns off"
            : "--tee " + std::string(row.mask) + " or 3";
    flags.warn(flags.label(row.flag) + " has no effect: it needs " + need);
  }
}

void check_prefix(FlagReader& flags, Options& options) {
  if (!options.prefix_template) return;
  // An empty template means "the default" to torchrun, and "no prefix" to us.
  if (options.prefix_template->empty() && options.personality == Personality::kTorchrun)
    return options.prefix_template.reset();
  const std::string_view stranger = unknown_macro(*options.prefix_template);
  if (!stranger.empty())
    flags.refuse_part(flag::kLogLinePrefixTemplate,
                      "'" + std::string(stranger) + "' is none of " + std::string(kPrefixMacros),
                      "stays as it is");
}

void check_output(FlagReader& flags, Options& options) {
  if (options.log_dir == kNullDevice) {
    // As torchrun 2.13: without files there is nothing to redirect to.
    options.redirects = options.tee = StreamsByRank{};
    for (const Flag flag : {flag::kRedirects, flag::kTee})
      flags.derive(flag, "0", flags.label(flag::kLogDir) + " " + *options.log_dir);
  }
  // Whoever names a folder wants to find the output there. torchrun makes empty folders.
  const bool any = flags.is_given(flag::kRedirects) || flags.is_given(flag::kTee);
  if (options.personality == Personality::kMuster && options.log_dir && !any &&
      options.log_dir != kNullDevice) {
    options.tee.otherwise = {.out = true, .err = true};
    flags.derive(flag::kTee, "3", flags.label(flag::kLogDir));
  }
  check_prefix(flags, options);
  warn_of_idle_filters(flags, options);
}

// Whether each local rank that is named will be there. The other kinds of workers are counted on
// the machine, later.
void check_local_ranks(FlagReader& flags, Options& options) {
  if (options.workers_per_node.kind != WorkerCountKind::kNumber) return;
  const int workers = options.workers_per_node.number;
  const auto warn_beyond = [&flags, workers](Flag flag, int local_rank) {
    if (local_rank < workers) return;
    flags.warn(fmt::format("{}: there is no local rank {}, the last one is {}", flags.label(flag),
                           local_rank, workers - 1));
  };
  for (const auto& [rank, streams] : options.redirects.by_local_rank)
    warn_beyond(flag::kRedirects, rank);
  for (const auto& [rank, streams] : options.tee.by_local_rank) warn_beyond(flag::kTee, rank);
  for (const int rank : options.local_ranks_filter) warn_beyond(flag::kLocalRanksFilter, rank);
}

}  // namespace

constexpr FlagGroup kOutputFlags{"Output", kRows, check_output, check_local_ranks};

}  // namespace muster::launcher
