// Flags: a command line and the environment become raw flag values, each with its source. Pure: no
// meaning of any value is known here (options.h), only the grammar, which is torchrun's (argparse):
// options end at the first positional, unique prefixes, '_' = '-', "-r3", one swallowed "--".
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "launcher/options/flag_table.h"

namespace muster::launcher {

/// In ascending order of precedence.
enum class SourceKind { kDefault, kContract, kEnvironment, kCommandLine };

/// A value that somebody gave. Switches are "true" or "false".
struct GivenValue {
  std::string text;
  SourceKind kind = SourceKind::kCommandLine;
  std::string source;  ///< "command line", the variable's name, the inner launcher's, a contract's
};

/// What a manifest says of how its containers run (launcher/manifest).
struct ManifestOptions {
  bool names_address = false;    ///< $MASTER_ADDR and $MASTER_PORT in its words are rank 0's
  std::string working_dir = {};  ///< "" = ours
};

/// --help, --version, --print-completion.
struct FlagRequest {
  Flag flag = flag::kHelp;
  std::string argument;  ///< "" = none
};

/// What scan_flags() found; input of resolve_options().
struct RawFlags {
  Dialect dialect = Dialect::kMuster;
  std::map<Flag, GivenValue> given;
  std::optional<std::string> program;  ///< the first positional; none = there was none
  std::vector<std::string> arguments;  ///< everything after it, verbatim
  std::optional<FlagRequest> request;  ///< then the rest was not looked at
  /// The interpreter that an inner launcher was started with ("python3.11"); "" = none.
  std::string interpreter;
  /// Path with '/' of a torchrun script (or of our link); its interpreter lies in the same folder.
  /// "" = unknown.
  std::string torchrun_path;
  /// What an inner launcher would have added for the workers.
  std::vector<std::pair<std::string, std::string>> environment = {};
  ManifestOptions manifest = {};
  std::vector<std::string> warnings;

  [[nodiscard]] const GivenValue* find(Flag flag) const;
  [[nodiscard]] bool is_on(Flag flag) const;
};

/// Reads `words` (argv without the program's name and verb) and then, for what they leave open,
/// MUSTER_<FLAG>, PET_<FLAG> and the row's other variable. The last of repeated flags wins, unless
/// its row says otherwise. An empty variable is true for a switch and unset for a value (torchrun
/// dies of either); what Kubernetes says of a Service (service_variables.h) is unset. One literal
/// "--" is dropped: before the program, or else directly after it. Differences to argparse: a
/// flag's two spellings are not ambiguous, words after the program are never looked at, a word with
/// a space in it is no positional, nor is one that begins with a dash that is no '-' (web pages and
/// word processors make such). Errors: kUsage, one line that names the flag. O(words); the
/// kernel limits their bytes.
Result<RawFlags> scan_flags(Dialect dialect, std::span<const std::string> words,
                            const Environment& environment);

/// 1, true, t, yes, y, on; 0, false, f, no, n, off; any case. None: anything else.
[[nodiscard]] std::optional<bool> parse_boolean(std::string_view text);

}  // namespace muster::launcher
