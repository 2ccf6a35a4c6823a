// Small pure functions on text: splitting, strict numbers, durations, quoting. No locale, no
// allocation surprises.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace muster {

/// Parts between `separator`; "a,,b" gives an empty middle part, "" gives one empty part.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// Parts between white space (space, tab, CR, LF); none is empty.
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view line);

/// Without leading and trailing white space (space, tab, CR, LF).
[[nodiscard]] std::string_view trim(std::string_view text);

/// The whole of `text` as a decimal integer with optional '-'. None: empty, anything else in it,
/// out of range.
[[nodiscard]] std::optional<int64_t> parse_integer(std::string_view text);

/// The whole of `text` as a finite decimal number ("5", "0.1", "1e3"). None otherwise.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

/// A length of time: a number with unit ms, s, m or h; a bare number is seconds ("30", "1.5s",
/// "5m"). None otherwise, and for negative values or more than 10 years.
[[nodiscard]] std::optional<Duration> parse_duration(std::string_view text);

/// For messages: "1 node", "2 nodes".
[[nodiscard]] std::string counted(size_t count, std::string_view singular, std::string_view plural);

/// For messages: "250 ms", "1.5 s", "2 min 5 s".
[[nodiscard]] std::string format_duration(Duration duration);

/// `text` in double quotes, with \" and \\ and as one_line() gives it, when it holds anything but
/// printable ASCII without spaces, '"' or '='; otherwise unchanged. For log values.
[[nodiscard]] std::string quote_if_needed(std::string_view text);

/// Words joined for display as one command line, each quoted for a POSIX shell when needed. Display
/// only.
[[nodiscard]] std::string shell_join(const std::vector<std::string>& words);

/// "c" of "/a/b/c": what is behind the last '/'.
[[nodiscard]] std::string_view base_name(std::string_view path);
/// "/a/b" of "/a/b/c", "" of "/c", "." of "c": with a '/' and a name behind it what lies beside.
[[nodiscard]] std::string folder_of(std::string_view path);
/// Of a host's name: "worker-0" of "worker-0.job.svc".
[[nodiscard]] std::string_view first_label(std::string_view name);

[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);
/// As many of the last lines as fit into `limit_bytes`, each with its end.
[[nodiscard]] std::span<const std::string> last_lines(std::span<const std::string> lines,
                                                      size_t limit_bytes);

/// "2026-01-31T12:34:56.789Z".
[[nodiscard]] std::string format_utc_ms(WallTime time);

/// ASCII only; other bytes unchanged.
[[nodiscard]] std::string to_lower(std::string_view text);
[[nodiscard]] std::string to_upper(std::string_view text);

/// The longest prefix of `text` of at most `limit_bytes` that does not cut a UTF-8 sequence.
[[nodiscard]] std::string_view clip_utf8(std::string_view text, size_t limit_bytes);

/// The character with which `text` begins if it is one that a terminal, an editor or a page obeys
/// instead of showing it: C0, DEL, C1 (U+0080..U+009F), the line ends U+2028 and U+2029, and those
/// that turn the direction of what follows (U+202A..U+202E, U+2066..U+2069; CVE-2021-42574). None
/// otherwise. `text` need not be UTF-8.
[[nodiscard]] std::optional<char32_t> hidden_character(std::string_view text);

/// The words of others, as they may be shown and kept: whoever decodes them does this at once, so
/// nobody behind needs to know where they came from; the log does it again. `text` as one line of
/// valid UTF-8: bytes that are no UTF-8 become U+FFFD, and hidden characters are written as in C,
/// "\n", "\x1b" or "\u202e". What was made so stays as it is. At most four times as long.
[[nodiscard]] std::string one_line(std::string_view text);
/// The same for what has many lines: \n and \t stay.
[[nodiscard]] std::string printable_utf8(std::string_view text);

}  // namespace muster
