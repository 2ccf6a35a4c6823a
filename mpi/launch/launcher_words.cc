#include "mpi/launch/launcher_words.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "base/text.h"

namespace muster::mpi {

namespace {

// Missing on purpose: what starts the program in another way or not at all (configfile, debug, gdb,
// xterm, path), and options whose value may be left out or is more than a word (help,
// output-proctable).
constexpr std::string_view kPlain[] = {
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
constexpr std::string_view kValued[] = {
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
// "NAME VALUE", or "NAME=VALUE" as one word.
constexpr std::string_view kVariables[] = {"env", "genv"};

bool is_among(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error unsure(std::string text) { return {Code::kUsage, 0, std::move(text)}; }

// The words after this option that belong to it; it has any number of dashes, and "-NP" is "-np".
// None: the option is not known.
std::optional<size_t> values_after(std::string_view option, std::string_view next) {
  const std::string_view text =
      option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const size_t equals = text.find('=');
  const std::string name = to_lower(text.substr(0, equals));
  const bool valued = is_among(kValued, name);
  if (equals != std::string_view::npos) return valued ? std::optional<size_t>(0) : std::nullopt;
  if (is_among(kPlain, name)) return 0;
  if (valued) return 1;
  if (is_among(kVariables, name)) return next.find('=') == std::string_view::npos ? 2 : 1;
  return std::nullopt;
}

// In the words from `begin` to `end`: options, a program and what it is given.
Result<size_t> find_program(const std::vector<std::string>& words, size_t begin, size_t end) {
  size_t at = begin;
  while (at < end && words[at].starts_with('-')) {
    if (at - begin > kMaxLauncherWords)
      return unsure("there are more than " + std::to_string(kMaxLauncherWords) +
                    " words of options");
    const std::string_view next = at + 1 < end ? words[at + 1] : std::string_view();
    const auto values = values_after(words[at], next);
    if (!values)
      return unsure("option '" + words[at] + "' is none of those of MPICH that Muster reads");
    at += 1 + *values;
  }
  if (at >= end || words[at].empty()) return unsure("no program is among its words");
  return at;
}

}  // namespace

Result<std::vector<size_t>> find_program_words(const std::vector<std::string>& words) {
  std::vector<size_t> programs;
  size_t begin = 1;
  // Behind a ":" there must be another one.
  do {
    const auto colon =
        std::find(words.begin() + static_cast<std::ptrdiff_t>(std::min(begin, words.size())),
                  words.end(), ":");
    const auto end = static_cast<size_t>(colon - words.begin());
    const auto program = find_program(words, begin, end);
    if (!program) return Error(program.error());
    programs.push_back(*program);
    begin = end + 1;
  } while (begin <= words.size());
  return programs;
}

}  // namespace muster::mpi
