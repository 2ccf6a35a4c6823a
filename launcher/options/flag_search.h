// Finding the flag that somebody typed: whole names, unique prefixes, letters, and the nearest one
// when there is none. Knows no flag by itself (flag_table.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/options/flag_table.h"

namespace muster::launcher {

/// Whether a command line in `dialect` may hold the flag. Muster's own flags are known to all.
[[nodiscard]] bool is_known(const FlagRow& row, Dialect dialect);

/// The row that `name` (without leading dashes, '_' and '-' alike) means in `dialect`: an exact
/// name, else a unique prefix of a flag of torchrun's, else of Muster's. Null: see explain_unknown.
[[nodiscard]] const FlagRow* find_flag(std::string_view name, Dialect dialect);
[[nodiscard]] const FlagRow* find_letter(char letter, Dialect dialect);

/// The first of those closest to `name`; "" = none is close enough to be a likely typing error.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            std::span<const std::string> candidates);

/// One line for a name that find_flag does not know: its candidates, or the nearest.
[[nodiscard]] std::string explain_unknown(std::string_view name, Dialect dialect);

}  // namespace muster::launcher
