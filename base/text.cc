#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace muster {

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";
constexpr double kLongestDurationSeconds =
    10.0 * 365 * 24 * 3600;  // beyond it, nanoseconds in an int64 come near their end

bool is_plain_word(std::string_view text, std::string_view extra_specials) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [extra_specials](char c) {
    return c > ' ' && c < 0x7f && extra_specials.find(c) == std::string_view::npos;
  });
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Length of the well-formed UTF-8 sequence at the start of `text`, 0 when there is none. The ranges
// of the second byte exclude overlong forms, surrogates and what lies above U+10FFFF (Unicode 15,
// table 3-7).
size_t utf8_sequence_length(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < length) return 0;
  const unsigned lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < lowest || byte(1) > highest) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  return length;
}

char hex_digit(unsigned value) { return "0123456789abcdef"[value & 0xfU]; }

// As C writes it: "\r", "\x1b", "\u202e".
std::string escape_of(char32_t code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      break;
  }
  std::string escape = code > 0xff ? "\\u" : "\\x";
  for (int shift = code > 0xff ? 12 : 4; shift >= 0; shift -= 4)
    escape += hex_digit(static_cast<unsigned>(code >> static_cast<unsigned>(shift)));
  return escape;
}

// How many bytes of `text` are plain ASCII, or among `kept`. Almost always all.
size_t plain_bytes(std::string_view text, std::string_view kept) {
  const auto found = std::find_if(text.begin(), text.end(), [kept](char c) {
    return (c < ' ' || c > '~') && kept.find(c) == kept.npos;
  });
  return static_cast<size_t>(found - text.begin());
}

// `kept`: control characters that may stay.
std::string printable(std::string_view text, std::string_view kept) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string shown(text.substr(0, plain_bytes(text, kept)));
  text.remove_prefix(shown.size());
  while (!text.empty()) {
    const size_t length = utf8_sequence_length(text);
    const auto hidden = hidden_character(text);
    if (length == 0) {
      shown += kReplacement;
    } else if (hidden && kept.find(text[0]) == kept.npos) {
      shown += escape_of(*hidden);
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return shown;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  for (size_t end; (end = text.find(separator, start)) != std::string_view::npos; start = end + 1) {
    parts.push_back(text.substr(start, end - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (size_t begin = line.find_first_not_of(kWhiteSpace); begin != std::string_view::npos;
       begin = line.find_first_not_of(kWhiteSpace, begin)) {
    const size_t end = std::min(line.find_first_of(kWhiteSpace, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(kWhiteSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kWhiteSpace) - first + 1);
}

std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return value;
}

std::optional<Duration> parse_duration(std::string_view text) {
  double scale = 1;
  const auto ends_with = [&text](std::string_view unit) {
    return text.size() > unit.size() && text.ends_with(unit);
  };
  if (ends_with("ms")) {
    scale = 1e-3;
    text.remove_suffix(2);
  } else if (ends_with("s") || ends_with("m") || ends_with("h")) {
    scale = text.back() == 's' ? 1 : text.back() == 'm' ? 60 : 3600;
    text.remove_suffix(1);
  }
  const auto number = parse_number(text);
  if (!number || *number < 0 || *number * scale > kLongestDurationSeconds) return std::nullopt;
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*number * scale));
}

std::string counted(size_t count, std::string_view singular, std::string_view plural) {
  return std::to_string(count) + ' ' + std::string(count == 1 ? singular : plural);
}

std::string format_duration(Duration duration) {
  const double seconds = to_seconds(duration);
  char text[64];
  if (seconds < 0.9995) {  // three digits of what is left of a second may be a whole one
    std::snprintf(text, sizeof text, "%.3g ms", seconds * 1000);
  } else if (seconds < 120) {
    std::snprintf(text, sizeof text, "%.3g s", seconds);
  } else if (seconds < 7200) {
    const auto whole = static_cast<long>(seconds);
    std::snprintf(text, sizeof text, "%ld min %ld s", whole / 60, whole % 60);
  } else {
    const auto minutes = static_cast<long>(seconds / 60);
    std::snprintf(text, sizeof text, "%ld h %ld min", minutes / 60, minutes % 60);
  }
  return text;
}

std::string quote_if_needed(std::string_view text) {
  if (is_plain_word(text, "\"=")) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  quoted = one_line(quoted);
  quoted += '"';
  return quoted;
}

std::string shell_join(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    if (is_plain_word(word, "\"'\\$`&|;<>()*?[]#~!{}")) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) {
      if (c == '\'') {
        line += "'\\''";
      } else {
        line += c;
      }
    }
    line += '\'';
  }
  return line;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 == 0
}

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? "." : std::string(path.substr(0, slash));
}

std::string_view first_label(std::string_view name) { return name.substr(0, name.find('.')); }

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::span<const std::string> last_lines(std::span<const std::string> lines, size_t limit_bytes) {
  size_t first = lines.size();
  size_t used = 0;
  while (first > 0 && used + lines[first - 1].size() + 1 <= limit_bytes) {
    used += lines[--first].size() + 1;
  }
  return lines.subspan(first);
}

std::string format_utc_ms(WallTime time) {
  using std::chrono::days;
  using std::chrono::floor;
  using std::chrono::milliseconds;
  const auto day = floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<milliseconds>(time - day));
  char text[64];
  std::snprintf(
      text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
      static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
      static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

std::string to_lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

std::string to_upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

std::string_view clip_utf8(std::string_view text, size_t limit_bytes) {
  if (text.size() <= limit_bytes) return text;
  size_t end = limit_bytes;
  // A continuation byte at the cut means that a sequence began before it: go back to its first
  // byte.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::optional<char32_t> hidden_character(std::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (text.empty()) return std::nullopt;
  if (first < ' ' || first == 0x7f) return first;
  if (first == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return byte(1);
  if (first != 0xe2 || (byte(1) != 0x80 && byte(1) != 0x81)) return std::nullopt;
  if (byte(2) < 0x80 || byte(2) > 0xbf) return std::nullopt;
  const char32_t code = 0x2000 + ((byte(1) & 0x3fU) << 6U) + (byte(2) & 0x3fU);
  const bool hides = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return hides ? std::optional(code) : std::nullopt;
}

std::string printable_utf8(std::string_view text) { return printable(text, "\n\t"); }

std::string one_line(std::string_view text) { return printable(text, ""); }

}  // namespace muster
