#include "launcher/options/flags.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/options/flag_search.h"
#include "launcher/options/service_variables.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kCommandLine = "command line";

Error usage_error(std::string text) { return Error{Code::kUsage, 0, std::move(text)}; }

/// Whether the part of `word` before '=' names a flag.
bool names_flag(const std::string& word, Dialect dialect) {
  const std::string name = word.substr(0, word.find('='));
  if (name.starts_with("--")) return find_flag(name.substr(2), dialect) != nullptr;
  return name.size() > 1 && find_letter(name[1], dialect) != nullptr;
}

/// Whether argparse would take the word after a flag as its value: not a flag itself, but "-",
/// negative numbers, and words with a space that name no flag are values.
bool looks_like_value(const std::string& word, Dialect dialect) {
  if (!word.starts_with('-') || word == "-") return true;
  if (parse_number(word)) return true;
  // "-1s" is meant as a value as well, and its flag knows what is wrong with it.
  if (word.size() > 1 && word[1] >= '0' && word[1] <= '9' && dialect == Dialect::kMuster)
    return true;
  return word.find(' ') != std::string::npos && !names_flag(word, dialect);
}

/// "-nnodes" is a long name that lost a dash; anything else gets no guess.
Error unknown_letters(const std::string& word, Dialect dialect) {
  const std::string unknown = "unknown flag '" + word + "'";
  const std::string name = word.substr(1, word.find('=') - 1);
  const FlagRow* row = name.size() > 1 ? find_flag(name, dialect) : nullptr;
  if (row == nullptr) return usage_error(unknown);
  return usage_error(unknown + ", did you mean '" + long_name(*row) + "'?");
}

/// A flag as the command line spells it, before its value was looked for.
struct Spelled {
  const FlagRow* row;
  std::string written;               // "--nnodes", "-r": for messages
  std::optional<std::string> value;  // what was glued to it
};

class Scanner {
 public:
  Scanner(Dialect dialect, std::span<const std::string> words) : words_(words) {
    raw_.dialect = dialect;
  }
  Result<RawFlags> scan();

 private:
  /// One word that begins with '-'; `position_` is already behind it.
  Status scan_word(const std::string& word);
  Status scan_letters(const std::string& word);
  Status apply(const Spelled& spelled);
  Result<std::string> value_of(const Spelled& spelled);
  Result<std::string> switch_text(const Spelled& spelled) const;
  void take_program(bool separator_seen);

  std::span<const std::string> words_;
  size_t position_ = 0;
  RawFlags raw_;
};

/// A word that looks like a flag, because it begins with a dash of Unicode.
Status check_dash(const std::string& word) {
  constexpr std::string_view kDashes[] = {"\u2010", "\u2011", "\u2012", "\u2013",
                                          "\u2014", "\u2015", "\u2212"};
  for (const std::string_view dash : kDashes) {
    if (!word.starts_with(dash)) continue;
    return usage_error("'" + word + "' begins with '" + std::string(dash) +
                       "', which is another character than '-': write --" +
                       word.substr(dash.size()));
  }
  return {};
}

Result<RawFlags> Scanner::scan() {
  while (position_ < words_.size() && !raw_.request) {
    const std::string& word = words_[position_];
    const bool separator = word == "--";
    if (separator) ++position_;
    if (separator || word == "-" || !word.starts_with('-')) {
      if (!separator) MUSTER_RETURN_IF_ERROR(check_dash(word));
      take_program(separator);
      break;
    }
    ++position_;
    MUSTER_RETURN_IF_ERROR(scan_word(word));
  }
  return std::move(raw_);
}

void Scanner::take_program(bool separator_seen) {
  if (position_ == words_.size()) return;
  raw_.program = words_[position_++];
  if (!separator_seen && position_ < words_.size() && words_[position_] == "--") ++position_;
  raw_.arguments.assign(words_.begin() + static_cast<std::ptrdiff_t>(position_), words_.end());
}

Status Scanner::scan_word(const std::string& word) {
  if (!word.starts_with("--")) return scan_letters(word);
  const size_t equals = word.find('=');
  const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
  const FlagRow* row = find_flag(name, raw_.dialect);
  if (row == nullptr) return usage_error(explain_unknown(name, raw_.dialect));
  Spelled spelled{row, long_name(*row), std::nullopt};
  if (equals != std::string::npos) spelled.value = word.substr(equals + 1);
  return apply(spelled);
}

/// "-m", "-r3", "-r=3", "-mr3": letters of switches, then at most one with a value.
Status Scanner::scan_letters(const std::string& word) {
  std::string_view letters = std::string_view(word).substr(1);
  while (!letters.empty() && !raw_.request) {
    const FlagRow* row = find_letter(letters.front(), raw_.dialect);
    if (row == nullptr) return unknown_letters(word, raw_.dialect);
    Spelled spelled{row, "-" + std::string(letters.substr(0, 1)), std::nullopt};
    letters.remove_prefix(1);
    const bool glued =
        !letters.empty() && (row->kind == FlagKind::kValue || letters.front() == '=');
    if (glued) {
      if (letters.front() == '=') letters.remove_prefix(1);
      spelled.value = std::string(letters);
      letters = {};
    }
    MUSTER_RETURN_IF_ERROR(apply(spelled));
  }
  return {};
}

Status Scanner::apply(const Spelled& spelled) {
  const FlagRow& row = *spelled.row;
  if (row.kind == FlagKind::kRequest && row.placeholder.empty()) {
    raw_.request = FlagRequest{row.flag(), spelled.value.value_or("")};
    return {};
  }
  auto text = row.kind == FlagKind::kSwitch ? switch_text(spelled) : value_of(spelled);
  if (!text) return std::move(text).error();
  if (row.kind == FlagKind::kRequest) {
    raw_.request = FlagRequest{row.flag(), *std::move(text)};
  } else {
    GivenValue& given = raw_.given[row.flag()];
    if (row.into.repeats && !given.text.empty()) *text = given.text + "\n" + *text;
    given = {*std::move(text), SourceKind::kCommandLine, std::string(kCommandLine)};
  }
  return {};
}

Result<std::string> Scanner::value_of(const Spelled& spelled) {
  if (spelled.value) return *spelled.value;
  if (position_ == words_.size())
    return usage_error("flag '" + spelled.written + "' needs a value");
  const std::string& next = words_[position_];
  if (!looks_like_value(next, raw_.dialect)) {
    return usage_error("flag '" + spelled.written + "' needs a value, but '" + next + "' follows");
  }
  ++position_;
  return next;
}

Result<std::string> Scanner::switch_text(const Spelled& spelled) const {
  if (!spelled.value) return std::string("true");
  const auto on = parse_boolean(*spelled.value);
  if (!on) {
    return usage_error("flag '" + spelled.written + "' is a switch: '" + *spelled.value +
                       "' is neither true nor false");
  }
  return std::string(*on ? "true" : "false");
}

/// The value that variable `name` gives to the flag; none = it says nothing.
Result<std::optional<GivenValue>> read_variable(const FlagRow& row, const std::string& name,
                                                const Environment& environment) {
  const auto text = environment.get(name);
  if (!text || is_set_by_service(name, environment)) return std::optional<GivenValue>();
  GivenValue value{std::string(*text), SourceKind::kEnvironment, name};
  if (row.kind == FlagKind::kValue) {
    if (text->empty() && !row.empty_is_a_value) return std::optional<GivenValue>();
    return std::optional(std::move(value));
  }
  const auto on = text->empty() ? std::optional(true) : parse_boolean(trim(*text));
  if (!on) return usage_error(name + " '" + value.text + "': neither 1 nor 0");
  value.text = *on ? "true" : "false";
  return std::optional(std::move(value));
}

/// Which families of variables there are at all: most jobs have none, and the names of eighty flags
/// need not be put together then.
struct VariableFamilies {
  bool muster;
  bool torchrun;
};

/// The strongest variable that gives the flag a value.
Result<std::optional<GivenValue>> read_variables(const FlagRow& row, VariableFamilies families,
                                                 const Environment& environment) {
  const std::string names[] = {families.muster ? muster_variable(row) : "",
                               families.torchrun ? torchrun_variable(row) : "",
                               std::string(row.other_variable), std::string(row.foreign.variable)};
  for (const std::string& name : names) {
    if (name.empty()) continue;
    auto value = read_variable(row, name, environment);
    if (!value || value->has_value()) return value;
  }
  return std::optional<GivenValue>();
}

}  // namespace

const GivenValue* RawFlags::find(Flag flag) const {
  const auto found = given.find(flag);
  return found == given.end() ? nullptr : &found->second;
}

bool RawFlags::is_on(Flag flag) const {
  const GivenValue* value = find(flag);
  return value != nullptr && value->text == "true";
}

Result<RawFlags> scan_flags(Dialect dialect, std::span<const std::string> words,
                            const Environment& environment) {
  auto raw = Scanner(dialect, words).scan();
  if (!raw || raw->request) return raw;
  const VariableFamilies families{environment.has_any("MUSTER_"), environment.has_any("PET_")};
  for (const FlagRow& row : flag_table()) {
    if (!is_known(row, dialect) || row.kind == FlagKind::kRequest) continue;
    if (raw->given.contains(row.flag())) continue;
    auto value = read_variables(row, families, environment);
    if (!value) return std::move(value).error();
    if (value->has_value()) raw->given.emplace(row.flag(), **std::move(value));
  }
  return raw;
}

std::optional<bool> parse_boolean(std::string_view text) {
  constexpr std::string_view kTrue[] = {"1", "true", "t", "yes", "y", "on"};
  constexpr std::string_view kFalse[] = {"0", "false", "f", "no", "n", "off"};
  const std::string lower = to_lower(text);
  if (std::ranges::find(kTrue, lower) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, lower) != std::end(kFalse)) return false;
  return std::nullopt;
}

}  // namespace muster::launcher
