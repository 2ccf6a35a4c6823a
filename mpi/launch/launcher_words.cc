#include "mpi/launch/launcher_words.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"

namespace muster::mpi {

namespace {

using Names = std::span<const std::string_view>;

// Missing on purpose: what starts the program in another way or not at all (app, configfile, debug,
// tv, gdb, gtool, xterm, path, preload-*, index-argv-by-rank, do-not-launch, continuous, stop-*),
// and options whose value may be left out or is more than a word (help, output-proctable, set-env,
// Intel's tune).

// With the same number of values in Open MPI 4 and 5.
constexpr std::string_view kOpenMpiPlain[] = {
    "allow-run-as-root",
    "bind-to-core",
    "bycore",
    "bynode",
    "byslot",
    "debug-daemons",
    "debug-daemons-file",
    "disable-recovery",
    "display-allocation",
    "display-devel-map",
    "display-map",
    "enable-recovery",
    "get-stack-traces",
    "leave-session-attached",
    "merge-stderr-to-stdout",
    "nolocal",
    "nooversubscribe",
    "noprefix",
    "oversubscribe",
    "pernode",
    "report-bindings",
    "report-child-jobs-separately",
    "report-state-on-timeout",
    "show-progress",
    "tag-output",
    "timestamp-output",
    "use-hwthread-cpus",
    "v",
    "verbose",
    "xml",
};
constexpr std::string_view kOpenMpiValued[] = {
    "H",
    "N",
    "am",
    "bind-to",
    "c",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "default-hostfile",
    "host",
    "hostfile",
    "launch-agent",
    "machinefile",
    "map-by",
    "max-restarts",
    "max-vm-size",
    "n",
    "np",
    "npernode",
    "npersocket",
    "output-filename",
    "ppr",
    "prefix",
    "rank-by",
    "rankfile",
    "report-pid",
    "report-uri",
    "stdin",
    "timeout",
    "tune",
    "wd",
    "wdir",
    "x",
};
constexpr std::string_view kOpenMpi4Plain[] = {
    "bind-to-socket",
    "d",
    "debug-devel",
    "display-devel-allocation",
    "display-diffable-map",
    "display-topo",
    "do-not-resolve",
    "enable-instant-on-support",
    "fwd-mpirun-port",
    "novm",
    "q",
    "quiet",
    "set-cwd-to-session-dir",
    "use-regexp",
};
constexpr std::string_view kOpenMpi4Valued[] = {
    "cartofile", "cf", "ompi-server", "report-events", "rf", "xml-file",
};
constexpr std::string_view kOpenMpi4Pairs[] = {"gmca", "mca"};
constexpr std::string_view kOpenMpi5Plain[] = {
    "display-comm", "display-comm-finalize", "hetero-nodes", "no-app-prefix", "no-aggregate-help",
};
constexpr std::string_view kOpenMpi5Valued[] = {
    "display",         "display-topo",       "forward-signals",
    "gpu-support",     "initial-errhandler", "memory-alloc-kinds",
    "output",          "output-directory",   "pset",
    "runtime-options", "spawn-timeout",      "stream-buffering",
};
constexpr std::string_view kOpenMpi5Pairs[] = {"gmca", "gomca",   "mca",
                                               "omca", "pmixmca", "prtemca"};

constexpr std::string_view kMpichPlain[] = {
    "debug",
    "disable-auto-cleanup",
    "disable-hostname-propagation",
    "disable-x",
    "enable-auto-cleanup",
    "enable-hostname-propagation",
    "enable-x",
    "envall",
    "envnone",
    "genvall",
    "genvnone",
    "hybrid-hosts",
    "l",
    "pmi-port",
    "prepend-rank",
    "print-all-exitcodes",
    "profile",
    "report-bindings",
    "skip-launch-node",
    "v",
    "verbose",
};
constexpr std::string_view kMpichValued[] = {
    "bind-to",
    "binding",
    "bootstrap",
    "bootstrap-exec",
    "demux",
    "envlist",
    "errfile",
    "errfile-pattern",
    "f",
    "g",
    "genvlist",
    "gpu-subdevs-per-proc",
    "gpus-per-proc",
    "host",
    "hostfile",
    "hostlist",
    "hosts",
    "iface",
    "launcher",
    "launcher-exec",
    "localhost",
    "machine",
    "machinefile",
    "machinelist",
    "machines",
    "map-by",
    "membind",
    "memory-alloc-kinds",
    "n",
    "nameserver",
    "np",
    "order-nodes",
    "outfile",
    "outfile-pattern",
    "output-from",
    "ppn",
    "prepend-pattern",
    "rankmap",
    "rmk",
    "topolib",
    "usize",
    "wdir",
};
constexpr std::string_view kIntelPlain[] = {
    "cleanup",
    "disable-auto-cleanup",
    "disable-x",
    "enable-x",
    "envall",
    "envnone",
    "genvall",
    "genvnone",
    "l",
    "nolocal",
    "ordered-output",
    "prepend-rank",
    "prepend-timestamp",
    "print-all-exitcodes",
    "print-rank-map",
    "prot",
    "rr",
    "silent-abort",
    "v",
    "verbose",
};
constexpr std::string_view kIntelValued[] = {
    "bootstrap",
    "bootstrap-exec",
    "bootstrap-exec-args",
    "branch-count",
    "cpu-bind",
    "demux",
    "envlist",
    "errfile-pattern",
    "f",
    "genvlist",
    "grr",
    "host",
    "hostfile",
    "hosts",
    "iface",
    "launcher",
    "launcher-exec",
    "localhost",
    "machinefile",
    "n",
    "np",
    "outfile-pattern",
    "perhost",
    "ppn",
    "prepend-pattern",
    "rmk",
    "s",
    "usize",
    "wdir",
};
// "NAME VALUE", or "NAME=VALUE" as one word.
constexpr std::string_view kHydraVariables[] = {"env", "genv"};

struct Grammar {
  Names plain;  // without a value
  Names more_plain = {};
  Names valued;  // with one
  Names more_valued = {};
  Names pairs = {};             // with two
  Names variables = {};         // kHydraVariables
  bool any_dashes = false;      // else one or two
  bool any_case = false;        // -NP is -np
  bool joins = false;           // --np=4
  bool ends_at_dashes = false;  // "--" is the last of the options
};

constexpr Grammar kOpenMpi4 = {.plain = kOpenMpiPlain,
                               .more_plain = kOpenMpi4Plain,
                               .valued = kOpenMpiValued,
                               .more_valued = kOpenMpi4Valued,
                               .pairs = kOpenMpi4Pairs,
                               .ends_at_dashes = true};
constexpr Grammar kOpenMpi5 = {.plain = kOpenMpiPlain,
                               .more_plain = kOpenMpi5Plain,
                               .valued = kOpenMpiValued,
                               .more_valued = kOpenMpi5Valued,
                               .pairs = kOpenMpi5Pairs,
                               .joins = true,
                               .ends_at_dashes = true};
constexpr Grammar kMpich = {.plain = kMpichPlain,
                            .valued = kMpichValued,
                            .variables = kHydraVariables,
                            .any_dashes = true,
                            .any_case = true,
                            .joins = true};
constexpr Grammar kIntelMpi = {.plain = kIntelPlain,
                               .valued = kIntelValued,
                               .variables = kHydraVariables,
                               .any_dashes = true,
                               .joins = true};

const Grammar& grammar_of(const Launcher& launcher) {
  switch (launcher.implementation) {
    case Implementation::kOpenMpi:
      return launcher.major >= kFirstOpenMpiOfHostNames ? kOpenMpi5 : kOpenMpi4;
    case Implementation::kMpich:
      return kMpich;
    case Implementation::kIntelMpi:
      return kIntelMpi;
  }
  return kOpenMpi4;
}

bool is_among(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error unsure(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// The words after this option that belong to it. None: the option is not known.
std::optional<size_t> values_after(const Grammar& grammar, std::string_view option,
                                   std::string_view next) {
  const size_t dashes = std::min(option.find_first_not_of('-'), option.size());
  if (dashes > 2 && !grammar.any_dashes) return std::nullopt;
  const std::string_view text = option.substr(dashes);
  const size_t equals = grammar.joins ? text.find('=') : std::string_view::npos;
  const std::string name =
      grammar.any_case ? to_lower(text.substr(0, equals)) : std::string(text.substr(0, equals));
  const bool plain = is_among(grammar.plain, name) || is_among(grammar.more_plain, name);
  const bool valued = is_among(grammar.valued, name) || is_among(grammar.more_valued, name);
  if (equals != std::string_view::npos) return valued ? std::optional<size_t>(0) : std::nullopt;
  if (plain) return 0;
  if (valued) return 1;
  if (is_among(grammar.pairs, name)) return 2;
  if (is_among(grammar.variables, name)) return next.find('=') == std::string_view::npos ? 2 : 1;
  return std::nullopt;
}

// In the words from `begin` to `end`: options, a program and what it is given.
Result<size_t> find_program(const Launcher& launcher, const std::vector<std::string>& words,
                            size_t begin, size_t end) {
  const Grammar& grammar = grammar_of(launcher);
  const std::string mpi(to_string(launcher.implementation));
  size_t at = begin;
  while (at < end && words[at].starts_with('-')) {
    if (at - begin > kMaxLauncherWords)
      return unsure("there are more than " + std::to_string(kMaxLauncherWords) +
                    " words of options");
    if (grammar.ends_at_dashes && words[at] == "--") {
      ++at;
      break;
    }
    const std::string_view next = at + 1 < end ? words[at + 1] : std::string_view();
    const auto values = values_after(grammar, words[at], next);
    if (!values)
      return unsure("option '" + words[at] + "' is none of those of " + mpi + " that Muster reads");
    at += 1 + *values;
  }
  if (at >= end || words[at].empty()) return unsure("no program is among its words");
  const bool is_java = base_name(words[at]) == "java";
  if (is_java && launcher.implementation == Implementation::kOpenMpi)
    return unsure("Open MPI changes the words of java");
  return at;
}

}  // namespace

Result<std::vector<size_t>> find_program_words(const Launcher& launcher,
                                               const std::vector<std::string>& words) {
  std::vector<size_t> programs;
  size_t begin = 1;
  // Behind a ":" there must be another one.
  do {
    const auto colon =
        std::find(words.begin() + static_cast<std::ptrdiff_t>(std::min(begin, words.size())),
                  words.end(), ":");
    const auto end = static_cast<size_t>(colon - words.begin());
    const auto program = find_program(launcher, words, begin, end);
    if (!program) return Error(program.error());
    programs.push_back(*program);
    begin = end + 1;
  } while (begin <= words.size());
  return programs;
}

}  // namespace muster::mpi
