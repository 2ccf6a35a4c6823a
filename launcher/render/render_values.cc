#include "launcher/render/render_values.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "launcher/options/choice.h"

namespace muster::launcher {

namespace {

constexpr size_t kMaxLabel = 63;
constexpr size_t kMaxSubdomain = 253;
constexpr size_t kMaxPortName = 15;
constexpr std::string_view kProjectNamespace = "runai-";
constexpr int64_t kMaxGpus = 1024;
constexpr double kMib = 1024.0 * 1024.0;

// ASCII alone: no locale.
bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
bool is_lower_or_digit(char letter) { return is_lower(letter) || is_digit(letter); }
bool is_alphanumeric(char letter) {
  return is_lower_or_digit(letter) || (letter >= 'A' && letter <= 'Z');
}
bool is_of_name(char letter) {
  return is_alphanumeric(letter) || letter == '-' || letter == '_' || letter == '.';
}

// Both ends are `end`, what is between is `end` or one of `inner`.
template <typename End>
bool is_framed(std::string_view text, size_t most, std::string_view inner, End end) {
  return !text.empty() && text.size() <= most && end(text.front()) && end(text.back()) &&
         std::ranges::all_of(text, [inner, end](char letter) {
           return end(letter) || inner.find(letter) != std::string_view::npos;
         });
}

bool is_dns_label(std::string_view text) {
  return is_framed(text, kMaxLabel, "-", is_lower_or_digit);
}

bool is_subdomain(std::string_view text) {
  return text.size() <= kMaxSubdomain && std::ranges::all_of(split(text, '.'), [](auto part) {
           return is_framed(part, kMaxSubdomain, "-", is_lower_or_digit);
         });
}

bool is_label_text(std::string_view text) {
  return is_framed(text, kMaxLabel, "-_.", is_alphanumeric);
}

// In front of the first `separator`, and behind it; none: there is no such.
std::optional<std::pair<std::string_view, std::string_view>> halves(std::string_view text,
                                                                    char separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

std::optional<double> scale_of(std::string_view suffix) {
  constexpr std::string_view kBinary = "KMGTPE";
  constexpr std::string_view kDecimal = "num kMGTPE";
  if (suffix.empty()) return 1;
  if (suffix.size() == 1 && suffix != " ") {
    const size_t at = kDecimal.find(suffix.front());
    if (at != std::string_view::npos) return std::pow(1000.0, static_cast<double>(at) - 3);
  }
  if (suffix.size() == 2 && suffix.back() == 'i') {
    const size_t at = kBinary.find(suffix.front());
    if (at != std::string_view::npos) return std::pow(1024.0, static_cast<double>(at) + 1);
  }
  constexpr int64_t kMostExponent = 18;  // a quantity has 63 bits
  const bool has_exponent = suffix.front() == 'e' || suffix.front() == 'E';
  const auto exponent = parse_integer(suffix.substr(suffix.find('+') == 1 ? 2 : 1));
  if (!has_exponent || !exponent || std::abs(*exponent) > kMostExponent) return std::nullopt;
  return std::pow(10.0, static_cast<double>(*exponent));
}

std::optional<int64_t> seconds_in(char unit) {
  if (unit == 's') return 1;
  if (unit == 'm') return 60;
  if (unit == 'h') return 3600;
  if (unit == 'd') return 24 * 3600;
  return std::nullopt;
}

// None: no length of time. Parts are at most nine digits, so that nothing overflows.
std::optional<int64_t> parse_seconds(std::string_view text) {
  int64_t all = 0;
  for (bool first = true; !text.empty(); first = false) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = parse_integer(text.substr(0, digits));
    if (!number || digits > 9) return std::nullopt;
    if (digits == text.size()) return first ? number : std::nullopt;
    const auto unit = seconds_in(text[digits]);
    if (!unit) return std::nullopt;
    all += *number * *unit;
    text.remove_prefix(digits + 1);
  }
  return all;
}

bool is_variable_name(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) && std::ranges::all_of(text, is_of_name);
}

// Each U+FFFD is one of the user's own, or stands for what is no UTF-8.
size_t count_replaced(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  size_t count = 0;
  for (size_t at = text.find(kReplacement); at != std::string_view::npos;
       at = text.find(kReplacement, at + 1))
    ++count;
  return count;
}

}  // namespace

bool is_utf8(std::string_view text) {
  return count_replaced(printable_utf8(text)) == count_replaced(text);
}

std::optional<double> quantity_of(std::string_view text) {
  const size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const auto value = parse_number(number.ends_with('.') ? number.substr(0, end - 1) : number);
  const auto scale = scale_of(text.substr(end));
  if (!value || !scale) return std::nullopt;
  return *value * *scale;
}

Result<std::string> as_any_text(std::string_view text) { return std::string(text); }

Result<std::string> as_workload_name(std::string_view text) {
  if (!is_dns_label(text) || !is_lower(text.front()))
    return wrong("must be at most 63 of a-z, 0-9 and '-', a letter first and no '-' last");
  return std::string(text);
}

Result<std::string> as_object_name(std::string_view text) {
  if (!is_subdomain(text))
    return wrong("must be at most 253 of a-z, 0-9, '-' and '.', a letter or digit at both ends");
  return std::string(text);
}

Result<std::string> as_dns_label(std::string_view text) {
  if (!is_dns_label(text))
    return wrong("must be at most 63 of a-z, 0-9 and '-', a letter or digit at both ends");
  return std::string(text);
}

Result<std::string> as_port_name(std::string_view text) {
  if (!is_dns_label(text) || text.size() > kMaxPortName || std::ranges::none_of(text, is_lower))
    return wrong("must be at most 15 of a-z, 0-9 and '-', with a letter");
  return std::string(text);
}

Result<std::string> as_project(std::string_view text) {
  const size_t most = kMaxLabel - kProjectNamespace.size();
  if (!is_dns_label(text) || text.size() > most)
    return wrong("must be at most " + std::to_string(most) +
                 " of a-z, 0-9 and '-', a letter or digit at both ends");
  return std::string(text);
}

Result<std::string> as_label_key(std::string_view text) {
  const auto parts = halves(text, '/');
  if (!is_label_text(parts ? parts->second : text) || (parts && !is_subdomain(parts->first)))
    return wrong("must be [DOMAIN/]NAME, the name at most 63 of letters, digits, '-', '_', '.'");
  return std::string(text);
}

Result<std::string> as_label_value(std::string_view text) {
  if (!text.empty() && !is_label_text(text))
    return wrong(
        "must be at most 63 of letters, digits, '-', '_', '.', a letter or digit at both ends");
  return std::string(text);
}

bool is_absolute_path(std::string_view text) {
  const auto parts = split(text, '/');
  return text.starts_with('/') && std::ranges::find(parts, "..") == parts.end();
}

Result<std::string> as_mount_path(std::string_view text) {
  if (!is_absolute_path(text) || text.find(':') != std::string_view::npos)
    return wrong("must be an absolute path without ':' and '..'");
  return std::string(text);
}

Result<std::string> as_cpu(std::string_view text) {
  constexpr double kLeast = 0.001;
  const auto value = quantity_of(text);
  if (!value || *value < kLeast)
    return wrong("must be a number of CPUs from 1m, as 0.5, 500m or 2");
  return std::string(text);
}

Result<std::string> as_quantity(std::string_view text) {
  const auto value = quantity_of(text);
  if (!value || *value <= 0) return wrong("must be a quantity above 0, as 500M, 16Gi or 1T");
  return std::string(text);
}

Result<std::string> as_gpus(std::string_view text) {
  const auto whole = parse_integer(text);
  const auto share = parse_number(text);
  const bool is_share = !whole && share && *share > 0 && *share < 1;
  if (is_share ? text.find_first_not_of("0123456789.") != std::string_view::npos
               : !whole || *whole < 0 || *whole > kMaxGpus)
    return wrong("must be a whole number from 0 to 1024, or a share between 0 and 1, as 0.5");
  return is_share ? std::string(text) : std::to_string(*whole);
}

Result<int64_t> as_mib(std::string_view text) {
  const auto bytes = quantity_of(text);
  constexpr double kMost = 1e9;
  if (!bytes || *bytes <= 0 || *bytes / kMib > kMost)
    return wrong("must be a quantity of bytes above 0, as 1G, 20M or 500Mi");
  return static_cast<int64_t>(std::ceil(*bytes / kMib));
}

Result<int64_t> as_seconds(std::string_view text, int64_t most_seconds) {
  const auto seconds = parse_seconds(text);
  if (!seconds || *seconds > most_seconds)
    return wrong("must be a time from 0s to " + std::to_string(most_seconds) +
                 "s, as 90, 45s, 5m or 1h30m");
  return *seconds;
}

Result<int64_t> as_identity(std::string_view text) {
  constexpr int64_t kMost = 2'147'483'647;
  const auto number = parse_integer(text);
  if (!number || *number < 0 || *number > kMost)
    return wrong("must be a number from 0 to " + std::to_string(kMost));
  return *number;
}

Result<std::vector<int64_t>> as_identities(std::string_view text) {
  std::vector<int64_t> all;
  for (const std::string_view part : split(text, ',')) {
    const auto number = as_identity(part);
    if (!number) return Error(number.error());
    all.push_back(*number);
  }
  return all;
}

Result<TextPair> as_label(std::string_view text) {
  const auto parts = halves(text, '=');
  if (!parts) return wrong("must be KEY=VALUE");
  auto key = as_label_key(parts->first);
  auto value = as_label_value(parts->second);
  if (!key) return std::move(key).error().with_context("the key");
  if (!value) return std::move(value).error().with_context("the value");
  return TextPair{*std::move(key), *std::move(value)};
}

Result<TextPair> as_annotation(std::string_view text) {
  const auto parts = halves(text, '=');
  if (!parts) return wrong("must be KEY=VALUE");
  auto key = as_label_key(parts->first);
  if (!key) return std::move(key).error().with_context("the key");
  return TextPair{*std::move(key), std::string(parts->second)};
}

Result<TextPair> as_secret_key(std::string_view text) {
  const auto parts = halves(text, ':');
  if (!parts || !is_subdomain(parts->first) || parts->second.empty() ||
      parts->second.size() > kMaxSubdomain || !std::ranges::all_of(parts->second, is_of_name))
    return wrong("must be SECRET:KEY, the name of a Secret and a key of it");
  return TextPair{parts->first, parts->second};
}

Result<VariableFlag> as_variable(std::string_view text) {
  const auto parts = halves(text, '=');
  if (!parts || !is_variable_name(parts->first))
    return wrong("must be NAME=VALUE, the name of letters, digits, '_', '-' and '.'");
  return VariableFlag{.name = std::string(parts->first), .value = std::string(parts->second)};
}

Result<VariableFlag> as_secret_variable(std::string_view text) {
  auto variable = as_variable(text);
  if (!variable) return variable;
  auto secret = as_secret_key(std::exchange(variable->value, ""));
  if (!secret) return wrong("must be NAME=SECRET:KEY");
  std::tie(variable->secret, variable->key) = *std::move(secret);
  return variable;
}

Result<std::vector<TextPair>> as_fields(std::string_view text,
                                        std::initializer_list<std::string_view> keys) {
  std::vector<TextPair> all;
  for (const std::string_view part : split(text, ',')) {
    const auto parts = halves(part, '=');
    if (!parts || std::ranges::find(keys, parts->first) == keys.end()) {
      const std::vector<std::string> names(keys.begin(), keys.end());
      return wrong("must be KEY=VALUE with ',' between, the keys out of " + join(names, ", "));
    }
    if (parts->second.empty() ||
        std::ranges::find(all, parts->first, &TextPair::first) != all.end())
      return wrong(std::string(parts->first) + "= must be there once, and not be empty");
    all.emplace_back(parts->first, parts->second);
  }
  return all;
}

}  // namespace muster::launcher
