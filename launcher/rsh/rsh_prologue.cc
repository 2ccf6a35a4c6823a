#include "launcher/rsh/rsh_prologue.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kProfileBegin = "( test ! -r ./.profile || . ./.profile;";
constexpr std::string_view kProfileEnd = " )";
constexpr std::string_view kExport = "export ";
constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
constexpr std::string_view kDigits = "0123456789";
// Each of these, in a value, means something to a shell.
constexpr std::string_view kSpecial = "`\\|&;<>()*?[]!~\"'{}# \t\r\n";

// As long as a variable's name can be, at the beginning.
std::string_view name_in(std::string_view text) {
  if (text.empty() || kDigits.find(text.front()) != std::string_view::npos) return {};
  return text.substr(0, text.find_first_not_of(kLetters));
}

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {}

  RshPrologue read(std::string_view command) {
    std::string_view left = trim(command);
    if (left.starts_with(kProfileBegin) && left.ends_with(kProfileEnd)) {
      left.remove_prefix(kProfileBegin.size());
      left.remove_suffix(kProfileEnd.size());
    }
    for (size_t statements = 0; statements < kMaxPrologueStatements; ++statements) {
      const size_t end = left.find(';');
      if (end == std::string_view::npos || !take(trim(left.substr(0, end)))) break;
      left.remove_prefix(end + 1);
    }
    RshPrologue prologue{{}, trim(left)};
    for (auto& [name, value] : values_) {
      if (exported_.contains(name) || environment_.has(name))
        prologue.variables.emplace_back(name, std::move(value));
    }
    return prologue;
  }

 private:
  bool take(std::string_view statement) {
    const bool is_export = statement.starts_with(kExport);
    if (is_export) statement = trim(statement.substr(kExport.size()));
    const std::string_view name = name_in(statement);
    if (name.empty()) return false;
    if (is_export) {
      if (name != statement) return false;
      exported_.emplace(name);
      return true;
    }
    if (!statement.substr(name.size()).starts_with('=')) return false;
    auto value = expand(statement.substr(name.size() + 1));
    if (!value) return false;
    values_.insert_or_assign(std::string(name), std::move(*value));
    return true;
  }

  std::optional<std::string> expand(std::string_view text) const {
    std::string value;
    while (!text.empty()) {
      if (text.front() == '$') {
        const auto known = take_variable(text);
        if (!known) return std::nullopt;
        value += *known;
      } else if (kSpecial.find(text.front()) != std::string_view::npos) {
        return std::nullopt;
      } else {
        value += text.front();
        text.remove_prefix(1);
      }
      if (value.size() > kMaxPrologueValueBytes) return std::nullopt;
    }
    return value;
  }

  // Of a "$NAME", "${NAME}" or "${NAME:-}" at the beginning, which it takes off.
  std::optional<std::string_view> take_variable(std::string_view& text) const {
    text.remove_prefix(1);
    const bool braces = text.starts_with('{');
    if (braces) text.remove_prefix(1);
    const std::string_view name = name_in(text);
    if (name.empty()) return std::nullopt;
    text.remove_prefix(name.size());
    if (braces) {
      if (text.starts_with(":-")) text.remove_prefix(2);
      if (!text.starts_with('}')) return std::nullopt;
      text.remove_prefix(1);
    }
    const auto set = values_.find(name);
    return set == values_.end() ? environment_.get(name).value_or("") : set->second;
  }

  const Environment& environment_;
  std::map<std::string, std::string, std::less<>> values_;
  std::set<std::string, std::less<>> exported_;
};

}  // namespace

RshPrologue read_prologue(std::string_view command, const Environment& environment) {
  return Reader(environment).read(command);
}

}  // namespace muster::launcher
