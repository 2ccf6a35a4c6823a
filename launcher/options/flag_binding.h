// How a row of the flag table names the field that it fills: `.into = to<&NodeOptions::lease,
// parse_lease>`. A parser is a function (std::string_view) -> Result<value>; most are in
// option_values.h. For the sources with rows, *_flags.cc.
#pragma once

#include <array>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "launcher/options/choice.h"
#include "launcher/options/flag_table.h"
#include "launcher/options/options.h"

namespace muster::launcher {

/// The struct of that type within `options`. A new struct of options needs one of these.
template <typename Part>
Part& part_of(Options& options);
template <>
inline Options& part_of<Options>(Options& options) {
  return options;
}
template <>
inline NodeOptions& part_of<NodeOptions>(Options& options) {
  return options.nodes;
}
template <>
inline FrameworkOptions& part_of<FrameworkOptions>(Options& options) {
  return options.framework;
}

template <>
inline FabricOptions& part_of<FabricOptions>(Options& options) {
  return options.fabric;
}

template <>
inline ReportOptions& part_of<ReportOptions>(Options& options) {
  return options.report;
}

template <>
inline PlainOptions& part_of<PlainOptions>(Options& options) {
  return options.framework.plain;
}

template <typename Part, typename Value>
Value& field_of(Options& options, Value Part::*field) {
  return part_of<Part>(options).*field;
}

template <auto kField, auto kParse>
Status fill_field(Options& options, std::string_view text) {
  auto value = kParse(text);
  if (!value) return std::move(value).error();
  field_of(options, kField) = *std::move(value);
  return {};
}

template <auto kFirst, auto kSecond, auto kParse>
Status fill_both(Options& options, std::string_view text) {
  const auto value = kParse(text);
  if (!value) return Error(value.error());
  const auto& [first, second] = *value;
  field_of(options, kFirst) = first;
  field_of(options, kSecond) = second;
  return {};
}

template <auto kCheck>
Status check_only(Options&, std::string_view text) {
  auto fine = kCheck(text);
  if (!fine) return std::move(fine).error();
  return {};
}

template <const auto& kChoices>
auto parse_choice(std::string_view text) {
  return choose(text, kChoices);
}

template <const auto& kChoices>
constexpr auto names_of() {
  std::array<std::string_view, std::size(kChoices)> names{};
  for (size_t i = 0; i < names.size(); ++i) names[i] = kChoices[i].name;
  return names;
}
template <const auto& kChoices>
inline constexpr auto kNamesOf = names_of<kChoices>();

inline constexpr std::array<std::string_view, 0> kAnyWord = {};

/// The field is what the parser makes of the text. `kWords`: for completion, if only they are
/// values.
template <auto kField, auto kParse, const auto& kWords = kAnyWord>
inline constexpr FlagBinding to{fill_field<kField, kParse>, kWords};
/// The same of a flag that may be given several times.
template <auto kField, auto kParse>
inline constexpr FlagBinding to_all{fill_field<kField, kParse>, {}, true};
/// The parser makes a struct of two members for two fields.
template <auto kFirst, auto kSecond, auto kParse>
inline constexpr FlagBinding to_both{fill_both<kFirst, kSecond, kParse>, {}, false};
/// The field is one of an array of Choice.
template <auto kField, const auto& kChoices>
inline constexpr FlagBinding one_of{fill_field<kField, parse_choice<kChoices>>, kNamesOf<kChoices>};
/// Fills nothing: code that concerns several flags reads it, or nobody does.
template <auto kCheck, const auto& kWords = kAnyWord>
inline constexpr FlagBinding checked{check_only<kCheck>, kWords};

// Parsers of values that have no grammar.

inline Result<std::string> as_text(std::string_view text) { return std::string(text); }

/// The scanner makes "true" or "false" of everything that a switch may be given.
inline Result<bool> as_switch(std::string_view text) { return text == "true"; }

/// For optional fields: an empty text is none, everything else is for the parser.
template <auto kParse>
auto unless_empty(std::string_view text)
    -> Result<std::optional<typename decltype(kParse(text))::value_type>> {
  using Value = typename decltype(kParse(text))::value_type;
  if (text.empty()) return std::optional<Value>();
  auto value = kParse(text);
  if (!value) return std::move(value).error();
  return std::optional<Value>(*std::move(value));
}

}  // namespace muster::launcher
