// The log: one line per event on stderr, `time level event key=value...`, or the same fields as
// JSON. Of libraries this header costs only fmt/core.h; spdlog is seen by log.cc alone. No secrets,
// no environment dumps.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"

namespace muster::log {

/// error = what we report upward; warning = we go on, and the line says how; info = transitions;
/// debug = anything.
enum class Level { kDebug, kInfo, kWarning, kError, kOff };
enum class Format { kText, kJson };

/// One key with its value as text; units belong in the key ("alive_s"). In JSON a number is a
/// number, a bool true or false, lines a list, all else a string. The text log leaves out what is
/// empty, and lists of lines: the report shows them.
struct Field {
  enum class Kind { kText, kLiteral, kLines, kQuiet };
  template <typename T>
  Field(std::string_view field_key, const T& field_value)
      : key(field_key),
        value(fmt::format("{}", field_value)),
        kind(std::is_arithmetic_v<T> && !std::is_same_v<T, char> ? Kind::kLiteral : Kind::kText) {}
  /// In seconds, to the millisecond.
  Field(std::string_view field_key, Duration duration);
  Field(std::string_view field_key, const std::vector<std::string>& lines);
  /// `json` is the value as it stands in JSON, of an object for one.
  [[nodiscard]] static Field of_json(std::string_view field_key, const std::string& json);
  /// A number that the text log leaves out, because its other words say it.
  [[nodiscard]] static Field for_programs(std::string_view field_key, uint64_t number);
  std::string_view key;
  std::string value;
  Kind kind = Kind::kText;
};

/// Event names are lower case, "noun.verb", and listed in docs/reference/events.md (a test checks
/// it).
void write(Level level, std::string_view event, std::initializer_list<Field> fields);

inline void debug(std::string_view event, std::initializer_list<Field> fields) {
  write(Level::kDebug, event, fields);
}
inline void info(std::string_view event, std::initializer_list<Field> fields) {
  write(Level::kInfo, event, fields);
}
inline void warning(std::string_view event, std::initializer_list<Field> fields) {
  write(Level::kWarning, event, fields);
}
inline void error(std::string_view event, std::initializer_list<Field> fields) {
  write(Level::kError, event, fields);
}

/// The threshold is the one global of the program. Default kInfo.
void set_level(Level level);
void set_format(Format format);
[[nodiscard]] Format format();
/// What all lines of JSON have in common, as those of the journal do; "" = not known.
struct Place {
  std::string job;
  std::string run_id;
  std::string node;
};
/// From now on. An event's own field of such a name is left out if it says the same, else it is
/// called event_NAME.
void set_place(Place place);
/// "debug", "info", "warning"/"warn", "error"/"critical", "off", any case (torchrun's LOGLEVEL).
/// None: unknown.
[[nodiscard]] std::optional<Level> parse_level(std::string_view text);

/// Where finished lines (with '\n') go; the default writes them to fd 2. The program points it at
/// its console sink, so that a stalled stderr cannot block the loop. An empty function restores the
/// default.
void set_sink(std::function<void(std::string_view line)> sink);

/// What happened, as the recorder gets it. Borrowed for the call.
struct Event {
  Level level;
  std::string_view name;
  std::span<const Field> fields;
};
/// Gets every event of level info and above, whatever the threshold says; none is the default and
/// costs nothing. What the recorder itself logs is not recorded. An empty function takes it away.
void set_recorder(std::function<void(const Event& event)> recorder);
/// For the recorder alone: what the log shows in another way, or what would be too much for people.
/// `level` is at least kInfo. Without a recorder nothing happens.
void record(Level level, std::string_view event, std::initializer_list<Field> fields);

/// The value of a field as JSON, on one line and of valid UTF-8.
[[nodiscard]] std::string json_of(const Field& field);

}  // namespace muster::log
