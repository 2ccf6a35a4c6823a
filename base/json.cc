#include "base/json.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

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

// JSON need not escape DEL and C1, which a terminal obeys. They stand in strings alone.
std::string dump_json(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte != 0x7f && !c1) continue;
    char escape[7];
    (void)std::snprintf(escape, sizeof escape, "\\u00%02x",
                        static_cast<unsigned>(static_cast<unsigned char>(text[c1 ? i + 1 : i])));
    text.replace(i, c1 ? 2 : 1, escape);
  }
  return text;
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
