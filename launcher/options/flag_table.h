// The flag table: every flag of `muster run` and torchrun, one row each, in groups by subject. A
// row is all there is to say of a flag: how it is called, what its value means, which field of
// Options it fills. Scanner, environment, --help, --explain, completion and docs/reference/flags.md
// are made from it. The rows are in the group's source, with the rules that concern several flags.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "launcher/options/flag.h"

namespace muster::launcher {

class FlagReader;
struct Options;

enum class FlagKind {
  kSwitch,   ///< on or off; on the command line "--flag" or "--flag=true"
  kValue,    ///< always followed by a value
  kRequest,  ///< prints something instead of running; no environment variable
};

/// Who invented the flag. Launch: torch.distributed.launch alone has it.
enum class Origin { kTorchrun, kLaunch, kMuster };

/// Whose command line is being read.
enum class Dialect { kMuster, kTorchrun, kLaunch };

/// Where a value goes. Made by the templates of flag_binding.h.
struct FlagBinding {
  /// Checks the value and fills the flag's field. kUsage: what is wrong with it, without the value
  /// and the flag's name. Null: code that concerns several flags reads it.
  Status (*fill)(Options& options, std::string_view text) = nullptr;
  std::span<const std::string_view> words = {};  ///< the values there are; empty = others, too
  bool repeats = false;  ///< each time adds to what was given before, with a line end between
};

/// Of a flag whose weakest variables belong to other programs as well.
struct Foreign {
  std::string_view complaint = {};  ///< about a wrong value of them; "" = that is an error
  std::string_view variable = {};   ///< one more, weaker than other_variable; "" = none
};

/// Why a flag does nothing here. Whoever gives it is warned.
struct NoEffect {
  std::string_view why = {};       ///< "" = it does something
  std::string_view harmless = {};  ///< the value that is worth no warning; "" = none
};

struct FlagRow {
  std::string_view name;  ///< long name with dashes, without the leading two
  FlagKind kind = FlagKind::kValue;
  Origin origin = Origin::kTorchrun;
  char letter = 0;                       ///< short name; 0 = none
  bool pet = true;                       ///< false: one of torchrun's two flags without PET_<NAME>
  bool empty_is_a_value = false;         ///< an empty variable means "", not "unset"
  std::string_view other_variable = {};  ///< one more variable, the weakest; "" = none
  std::string_view fallback = {};        ///< default as text; "" = none
  std::optional<std::string_view> torchrun_fallback = {};  ///< if torchrun's own default differs
  std::string_view placeholder = {};  ///< of the value, for people; "" = takes no value
  FlagBinding into = {};              ///< parser, and the field that it fills
  bool fallback_counts = true;        ///< false: it is shown, but fills nothing if nobody gave it
  Foreign foreign = {};               ///< of a flag of which other programs know
  NoEffect no_effect = {};            ///< of a flag that does nothing here
  std::string_view help = {};         ///< one line

  [[nodiscard]] constexpr Flag flag() const { return Flag(name); }
};

/// The flags of one subject.
struct FlagGroup {
  std::string_view title;  ///< heading in --help; groups of the same title are neighbours
  std::span<const FlagRow> rows;
  /// What is wrong between these flags, and which of them have no effect. Runs after the values of
  /// this group and of those before it, even if one of them is wrong. Null = nothing.
  void (*check)(FlagReader& flags, Options& options) = nullptr;
  /// What the flags of all groups mean together. Runs only if each is right by itself. Null =
  /// nothing.
  void (*settle)(FlagReader& flags, Options& options) = nullptr;
};

/// In the order of --help and --explain.
[[nodiscard]] std::span<const FlagGroup* const> flag_groups();

/// All rows in that order; a range.
class FlagTable {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = FlagRow;
    using difference_type = std::ptrdiff_t;
    using pointer = const FlagRow*;
    using reference = const FlagRow&;

    explicit Iterator(size_t group = 0) : group_(group) {}
    reference operator*() const { return flag_groups()[group_]->rows[row_]; }
    Iterator& operator++();
    Iterator operator++(int);
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    size_t group_ = 0;
    size_t row_ = 0;
  };
  [[nodiscard]] Iterator begin() const { return Iterator(0); }
  [[nodiscard]] Iterator end() const { return Iterator(flag_groups().size()); }
};
[[nodiscard]] inline FlagTable flag_table() { return {}; }
/// Of a flag that has a row.
[[nodiscard]] const FlagRow& row_of(Flag flag);

[[nodiscard]] std::string long_name(const FlagRow& row);
/// "MUSTER_MAX_RESTARTS"; "" for requests.
[[nodiscard]] std::string muster_variable(const FlagRow& row);
/// "PET_MAX_RESTARTS"; "" when torchrun has no such variable.
[[nodiscard]] std::string torchrun_variable(const FlagRow& row);
/// The default in `dialect` as text; "" = none.
[[nodiscard]] std::string_view default_text(const FlagRow& row, Dialect dialect);

}  // namespace muster::launcher
