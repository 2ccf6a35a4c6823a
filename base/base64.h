// Base64 with padding (RFC 4648, 4), as JSON carries bytes in text. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

[[nodiscard]] std::string to_base64(std::string_view bytes);

/// None: another character, a length that is no multiple of 4, padding elsewhere than at the end,
/// or bits that are set behind the last byte.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace muster
