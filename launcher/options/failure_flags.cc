// The flags that say what happens when workers fail, and how nodes and workers are stopped.
#include <fmt/core.h>

#include <algorithm>

#include "launcher/options/flag_binding.h"
#include "launcher/options/flag_groups.h"
#include "launcher/options/flag_reader.h"
#include "launcher/options/option_values.h"
#include "rendezvous/messages/round_policy.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kDefaultSignals = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";

constexpr Choice<bool> kNotified[] = {{"leaver", false}, {"all", true}};
constexpr Choice<rendezvous::HealthChecks> kHealthChecks[] = {
    {"off", rendezvous::HealthChecks::kOff},
    {"local", rendezvous::HealthChecks::kLocal},
    {"pairs", rendezvous::HealthChecks::kPairs}};

// What is unknown is for check_failure().
Result<std::vector<int>> known_signals(std::string_view text) {
  return parse_signals(text).signals;
}

constexpr FlagRow kRows[] = {
    {.name = "max-restarts",
     .fallback = "0",
     .placeholder = "N",
     .into = to<&Options::max_restarts, parse_count>,
     .help = "how often the workers may be started again"},
    {.name = "restart-backoff",
     .origin = Origin::kMuster,
     .fallback = "0s",
     .placeholder = "TIME",
     .into = to<&Options::restart_backoff, parse_pause>,
     .help = "pause before a restart, doubled each time; half to all of it"},
    {.name = "restart-window",
     .origin = Origin::kMuster,
     .placeholder = "TIME",
     .into = to<&NodeOptions::restart_window, unless_empty<parse_restart_window>>,
     .help = "of the restarts only those this recent count; with it at most 256"},
    {.name = "health-check",
     .origin = Origin::kMuster,
     .fallback = "off",
     .placeholder = "WHAT",
     .into = one_of<&Options::health_checks, kHealthChecks>,
     .help = "looked at before the workers start, each time: local (errors of `muster doctor`), "
             "pairs (also the way between nodes) or off. A node that is not fit stays out, and a "
             "spare takes its place"},
    {.name = "health-cooldown",
     .origin = Origin::kMuster,
     .fallback = "1m",
     .placeholder = "TIME",
     .into = to<&Options::health_cooldown, parse_cooldown>,
     .help = "how long such a node stays out at first, 1s to 1h; each time in a row twice as long"},
    {.name = "preempt-signal",
     .origin = Origin::kMuster,
     .placeholder = "SIGNAL",
     .into = to<&NodeOptions::preempt_signal, unless_empty<parse_handled_signal>>,
     .help = "what tells workers to save when a node is told to leave; the signal that came when "
             "left out. They have half of --grace-period for it, and half to stop"},
    {.name = "preempt-notify",
     .origin = Origin::kMuster,
     .fallback = "leaver",
     .placeholder = "WHOM",
     .into = one_of<&NodeOptions::preempt_notify_all, kNotified>,
     .help = "whose workers are told then: leaver (those of the node that leaves) or all"},
    {.name = "grace-period",
     .origin = Origin::kMuster,
     .fallback = "30s",
     .placeholder = "TIME",
     .into = to<&Options::grace_period, parse_grace_period>,
     .help =
         "SIGTERM to SIGKILL, at most 5m; where another node is lost 2 s at most. Kubernetes "
         "kills a pod terminationGracePeriodSeconds (30 unless set) after its SIGTERM: that has "
         "to be some seconds more"},
    {.name = "shutdown-timeout",
     .other_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
     .fallback = "30",
     .placeholder = "SECONDS",
     .into = checked<parse_shutdown_timeout>,
     .help = "torchrun's name of --grace-period"},
    {.name = "signals-to-handle",
     .fallback = kDefaultSignals,
     .placeholder = "LIST",
     .into = to<&Options::signals_to_handle, known_signals>,
     .help = "signals that stop the job"},
    {.name = "termination-log",
     .origin = Origin::kMuster,
     .placeholder = "PATH",
     .into = to<&Options::termination_log, as_text>,
     .help = "file for the last words; /dev/termination-log where that exists"},
};

/// Two flags for one thing: the stronger source wins, --grace-period when they are equal. torchrun
/// knows no longest time: what is more is cut.
void settle_grace_period(FlagReader& flags, Options& options) {
  const auto timeout = parse_shutdown_timeout(flags.text(flag::kShutdownTimeout));
  const GivenValue* const ours = flags.find(flag::kGracePeriod);
  const GivenValue* const theirs = flags.find(flag::kShutdownTimeout);
  if (theirs == nullptr || !timeout) return;
  const bool theirs_wins = ours == nullptr || ours->kind < theirs->kind;
  const Duration grace = options.grace_period;
  if (theirs_wins) {
    options.grace_period = std::min(*timeout, kMaxGracePeriod);
    const bool cut = *timeout > kMaxGracePeriod;
    const std::string most = fmt::format("{:g}", to_seconds(kMaxGracePeriod));
    const std::string label = flags.label(flag::kShutdownTimeout);
    if (cut) flags.warn(label + ": more than " + most + " seconds, " + most + " are used");
    flags.derive(flag::kGracePeriod, cut ? most : theirs->text, label);
  }
  if (ours != nullptr && grace != *timeout) {
    flags.warn(flags.label(theirs_wins ? flag::kGracePeriod : flag::kShutdownTimeout) +
               " has no effect: " +
               flags.label(theirs_wins ? flag::kShutdownTimeout : flag::kGracePeriod) +
               " says otherwise");
  }
}

void check_failure(FlagReader& flags, Options& options) {
  constexpr auto kMostInWindow = static_cast<int>(rendezvous::kMaxRestartAges);
  if (options.nodes.restart_window && options.max_restarts > kMostInWindow)
    flags.fail(flag::kMaxRestarts,
               fmt::format("at most {} with {}", kMostInWindow, flags.label(flag::kRestartWindow)));
  settle_grace_period(flags, options);
  for (const std::string& name : parse_signals(flags.text(flag::kSignalsToHandle)).unknown)
    flags.refuse_part(flag::kSignalsToHandle, "'" + name + "' is no signal that can be handled",
                      "ignored");
}

}  // namespace

constexpr FlagGroup kFailureFlags{"Failing and stopping", kRows, check_failure};

}  // namespace muster::launcher
