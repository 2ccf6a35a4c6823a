#include "base/json.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace muster {

namespace {

// Depth of brackets outside strings. Checked before parsing: nlohmann's parser is iterative, its
// destructor is not.
int nesting_depth(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text, size_t limit_bytes) {
  if (text.size() > limit_bytes) {
    return Error{Code::kLimit, 0,
                 "JSON of " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(limit_bytes)};
  }
  if (nesting_depth(text) > kMaxJsonDepth) {
    return Error{Code::kLimit, 0, "JSON nested deeper than " + std::to_string(kMaxJsonDepth)};
  }
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return Error{Code::kProtocol, 0, "not valid JSON"};
  return value;
}

// JSON need not escape DEL, C1 and what turns lines around. They stand in strings alone.
std::string dump_json(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const auto is_usual = [](char c) { return c >= ' ' && c <= '~'; };
  if (std::all_of(text.begin(), text.end(), is_usual)) return text;
  std::string escaped;
  escaped.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto hidden = hidden_character(std::string_view(text).substr(i));
    if (!hidden) {
      escaped += text[i];
      continue;
    }
    char escape[7];
    (void)std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(*hidden));
    escaped += escape;
    i += *hidden > 0xff ? 2 : *hidden > 0x7f ? 1 : 0;  // the rest of its bytes
  }
  return escaped;
}

// As deep as parse_json() allows.
void make_printable(nlohmann::json& value) {
  if (value.is_string()) value = printable_utf8(value.get_ref<const std::string&>());
  if (value.is_array()) {
    for (nlohmann::json& element : value) make_printable(element);
  }
  if (!value.is_object()) return;
  auto members = nlohmann::json::object();
  for (auto& [key, member] : value.items()) {
    make_printable(member);
    members[one_line(key)] = std::move(member);
  }
  value = std::move(members);
}

Result<std::string> printable_json(std::string_view text, size_t limit_bytes) {
  auto value = parse_json(text, limit_bytes);
  if (!value) return std::move(value).error();
  make_printable(*value);
  return dump_json(*value);
}

void append_json(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\';
  });
  if (plain) {
    out.append(1, '"').append(text).append(1, '"');
  } else {
    out += dump_json(std::string(text));
  }
}

}  // namespace muster
