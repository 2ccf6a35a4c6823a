// Headers of HTTP messages, in both directions: a list of names and values, as they were sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct HttpHeader {
  std::string name;   ///< "Retry-After"
  std::string value;  ///< without white space around it
};
using HttpHeaders = std::vector<HttpHeader>;

/// The value of the first header of that name, whatever its case; "" if there is none. Borrowed
/// from `headers`.
[[nodiscard]] std::string_view header_of(const HttpHeaders& headers, std::string_view name);

/// `text` may be the value of a header: it holds no control character, which could end the header
/// and begin another (RFC 9110, 5.5). What comes from a file or a user is asked before it is sent.
[[nodiscard]] bool is_header_value(std::string_view text);

/// "Name: value\r\n" for each. All values must be such.
[[nodiscard]] std::string encode(const HttpHeaders& headers);

}  // namespace muster
