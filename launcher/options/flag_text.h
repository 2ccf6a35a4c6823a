// Texts made from the flag table: --help, the table of docs/reference/flags.md, --explain. Pure;
// all end in a newline. Completion: completion.h.
#pragma once

#include <string>

#include "launcher/options/flag_table.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// --help: usage, then every flag under its heading with its default in `dialect`.
[[nodiscard]] std::string help_text(Dialect dialect);

/// --help=markdown: one table, a row per flag, with both personalities' defaults and all variables.
[[nodiscard]] std::string help_markdown();

/// --version: "muster 0.1.0", or "torchrun (muster 0.1.0)".
[[nodiscard]] std::string version_text(Personality personality);

/// --explain: an aligned table of flag, effective value and source, the command last. "-" stands
/// for no value; values are quoted when they hold anything unusual.
[[nodiscard]] std::string explain_text(const Options& options);

}  // namespace muster::launcher
