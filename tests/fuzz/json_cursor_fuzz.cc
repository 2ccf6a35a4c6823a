// What the cursor reads is what the library's tree is, and of no other texts.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "rendezvous/wire/json_cursor.h"

namespace {

using muster::rendezvous::JsonCursor;
using muster::rendezvous::JsonKind;
using nlohmann::json;

json number(JsonCursor& cursor) {
  const auto number = cursor.number();
  if (const auto value = number.as_unsigned()) return *value;
  if (const auto value = number.as_signed()) return *value;
  return json();  // its value is not kept
}

json rebuilt(JsonCursor& cursor) {
  json whole;
  switch (cursor.kind()) {
    case JsonKind::kObject:
      whole = json::object();
      cursor.enter();
      while (const auto key = cursor.next_key()) {
        const std::string name(*key);
        whole[name] = rebuilt(cursor);  // of two members of one name the library keeps the last
      }
      return whole;
    case JsonKind::kArray:
      whole = json::array();
      cursor.enter();
      while (cursor.next_value()) whole.push_back(rebuilt(cursor));
      return whole;
    case JsonKind::kText:
      return std::string(cursor.text());
    case JsonKind::kNumber:
      return number(cursor);
    case JsonKind::kBoolean:
      return cursor.boolean();
    case JsonKind::kNull:
    case JsonKind::kNone:
      cursor.skip();
      return whole;
  }
  return whole;
}

// As far as the cursor can tell.
json without_fractions(json value) {
  if (value.is_number_float()) return json();
  if (value.is_structured()) {
    for (auto& inside : value) inside = without_fractions(inside);
  }
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  JsonCursor cursor(text);
  const json whole = rebuilt(cursor);
  const bool valid = cursor.finish().has_value();
  const auto library = muster::parse_json(text);
  // The library skips a byte order mark and takes a zero byte for the end; the cursor takes
  // neither.
  const bool is_odd = text.starts_with("\xef\xbb\xbf") || text.find('\0') != std::string_view::npos;
  MUSTER_CHECK(is_odd || valid == library.has_value());
  if (valid && library) MUSTER_CHECK(whole == without_fractions(*library));

  JsonCursor skimmed(text);
  skimmed.skip();
  MUSTER_CHECK(skimmed.finish().has_value() == valid);
  return 0;
}
