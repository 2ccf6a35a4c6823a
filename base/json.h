// JSON at the edge: bounded, non-throwing parsing. nlohmann::json is complete only in .cc files.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

inline constexpr size_t kMaxJsonBytes =
    1 << 20;  ///< the largest document anyone sends us (error files, frames)
inline constexpr int kMaxJsonDepth = 32;  ///< nesting deeper than this is an attack, not data

/// kLimit: too long or too deep. kProtocol: not JSON.
Result<nlohmann::json> parse_json(std::string_view text, size_t limit_bytes = kMaxJsonBytes);

/// One line, without a hidden_character(); bytes that are not UTF-8 become U+FFFD, never an
/// exception.
[[nodiscard]] std::string dump_json(const nlohmann::json& value);

/// Every text in it as printable_utf8() gives it, every key as one_line(). `value`: of
/// parse_json(), which bounds its depth.
void make_printable(nlohmann::json& value);

/// JSON of others as we would have written it: parsed, made printable and written anew. Errors: as
/// parse_json().
Result<std::string> printable_json(std::string_view text, size_t limit_bytes = kMaxJsonBytes);

/// Appends the JSON of one text, with its quotes. Plain ASCII costs a copy.
void append_json(std::string& out, std::string_view text);

}  // namespace muster
