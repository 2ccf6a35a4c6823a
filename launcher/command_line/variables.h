// The table of environment variables: every one that Muster sets for what it starts, and those that
// it reads besides the variables of flags (flag_table.h). The names are declared by the library
// that sets them; this only lists them. docs/reference/environment.md is made from it.
#pragma once

#include <span>
#include <string_view>

namespace muster::launcher {

/// What the pod or its user may set.
inline constexpr std::string_view kSetByUser = "you";

struct VariableRow {
  std::string_view name;
  std::string_view set_by;   ///< kSetByUser, or the part of Muster
  std::string_view read_by;  ///< who needs it
  std::string_view meaning;  ///< one line
};

/// In the order of the page.
[[nodiscard]] std::span<const VariableRow> variable_table();

}  // namespace muster::launcher
