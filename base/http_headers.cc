#include "base/http_headers.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace muster {

std::string_view header_of(const HttpHeaders& headers, std::string_view name) {
  const std::string wanted = to_lower(name);
  for (const HttpHeader& header : headers)
    if (to_lower(header.name) == wanted) return header.value;
  return "";
}

bool is_header_value(std::string_view text) {
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= kFirstPrintable && byte != kDelete) || c == '\t';
  });
}

std::string encode(const HttpHeaders& headers) {
  std::string text;
  for (const HttpHeader& header : headers) {
    MUSTER_CHECK(is_header_value(header.value));
    text += header.name + ": " + header.value + "\r\n";
  }
  return text;
}

}  // namespace muster
