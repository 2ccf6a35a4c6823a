// The flag table: every flag of `muster run` and torchrun, one row each. Parser, environment
// defaults, --help, --explain and COMMAND_LINE.md are made from it. Meanings: resolve_options.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "launcher/flag.h"

namespace muster::launcher {

enum class FlagKind {
  kSwitch,   ///< on or off; on the command line "--flag" or "--flag=true"
  kValue,    ///< always followed by a value
  kRequest,  ///< prints something instead of running; no environment variable
};

/// Who invented the flag. Launch: torch.distributed.launch alone has it.
enum class Origin { kTorchrun, kLaunch, kMuster };

/// Whose command line is being read.
enum class Dialect { kMuster, kTorchrun, kLaunch };

/// Headings of --help, in its order.
enum class Section { kProgram, kJob, kRendezvous, kFailure, kOutput, kPlacement, kIgnored, kOther };
[[nodiscard]] std::string_view to_string(Section section);

struct FlagRow {
  Flag flag;
  std::string_view name;  ///< long name with dashes, without the leading two
  Section section;
  FlagKind kind = FlagKind::kValue;
  Origin origin = Origin::kTorchrun;
  char letter = 0;                       ///< short name; 0 = none
  bool pet = true;                       ///< false: one of torchrun's two flags without PET_<NAME>
  bool empty_is_a_value = false;         ///< an empty variable means "", not "unset"
  std::string_view other_variable = {};  ///< one more variable, the weakest; "" = none
  std::string_view fallback = {};        ///< default as text; "" = none
  std::optional<std::string_view> torchrun_fallback = {};  ///< where torchrun's own default differs
  std::string_view placeholder = {};  ///< of the value, for people; "" = takes no value
  std::string_view help;              ///< one line
};

/// All rows, in the order of --help and --explain.
[[nodiscard]] std::span<const FlagRow> flag_table();
[[nodiscard]] const FlagRow& row_of(Flag flag);

[[nodiscard]] std::string long_name(const FlagRow& row);
/// "MUSTER_MAX_RESTARTS"; "" for requests.
[[nodiscard]] std::string muster_variable(const FlagRow& row);
/// "PET_MAX_RESTARTS"; "" when torchrun has no such variable.
[[nodiscard]] std::string torchrun_variable(const FlagRow& row);
/// The default in `dialect` as text; "" = none.
[[nodiscard]] std::string_view default_text(const FlagRow& row, Dialect dialect);

}  // namespace muster::launcher
