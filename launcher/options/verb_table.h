// The verbs that people call, one row each: `muster help` and the completion of shells are made
// from them. What a verb does is in verbs.cc. The flags of `muster run` are in flag_table.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace muster::launcher {

/// A flag that a verb has besides those of `muster run`.
struct VerbFlag {
  std::string_view name;  ///< with its dashes
  bool takes_value = false;
};

struct VerbRow {
  std::string_view name;
  std::string_view arguments;  ///< what follows, as the help shows it
  std::string_view meaning;
  std::span<const VerbFlag> flags = {};  ///< but for --help, which every verb has
  bool takes_run_flags = false;
  std::span<const std::string_view> words = {};  ///< the arguments there are; empty = others, too
};

/// In the order of the help.
[[nodiscard]] std::span<const VerbRow> verb_table();

/// `muster help`.
[[nodiscard]] std::string verbs_help();
/// Of a verb that takes no flags of its own: how it is called, and what for.
[[nodiscard]] std::string short_help(std::string_view verb);

}  // namespace muster::launcher
