#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/log_words.h"
#include "base/text.h"

namespace muster::log {

namespace {

void write_to_stderr(std::string_view line) {
  // Nothing is left to do about a stderr that takes no more bytes.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

// Hands finished lines to a function. null_mutex: the program has one thread.
class FunctionSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  std::function<void(std::string_view)> target = write_to_stderr;

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    target(std::string_view(line.data(), line.size()));
  }
  void flush_() override {}
};

struct Logger {
  std::shared_ptr<FunctionSink> sink = std::make_shared<FunctionSink>();
  spdlog::logger logger{"muster", sink};
  Format format = Format::kText;
  Place place;
  std::function<void(const Event&)> recorder;
  bool records = false;  // the recorder is at work
  Logger() {
    logger.set_level(spdlog::level::info);
    logger.set_formatter(make_formatter("%v"));
  }
  static std::unique_ptr<spdlog::formatter> make_formatter(const char* pattern) {
    return std::make_unique<spdlog::pattern_formatter>(pattern, spdlog::pattern_time_type::utc,
                                                       "\n");
  }
};

// The one global of the program: made at the first line, so that a quiet run does not pay for it.
Logger& instance() {
  static Logger logger;
  return logger;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kError:
      return spdlog::level::err;
    case Level::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

// An object as people read it: {"stop":0.2,"spawn":1} is stop:0.2,spawn:1.
std::string text_of(const Field& field) {
  if (field.kind != Field::Kind::kLiteral || !field.value.starts_with('{'))
    return quote_if_needed(field.value);
  std::string text = field.value;
  std::erase_if(text, [](char each) { return each == '{' || each == '}' || each == '"'; });
  return text;
}

std::string as_text(WallTime time, Level level, std::string_view event,
                    std::initializer_list<Field> fields) {
  std::string line = format_utc_ms(time);
  line += ' ';
  line += static_cast<char>(word_of(level).front() - 'a' + 'A');
  line += ' ';
  line += event;
  for (const Field& field : fields) {
    const bool shown = field.kind == Field::Kind::kText || field.kind == Field::Kind::kLiteral;
    if (field.value.empty() || !shown) continue;
    line += ' ';
    line += field.key;
    line += '=';
    line += text_of(field);
  }
  return line;
}

nlohmann::json json_value(const Field& field) {
  if (field.kind == Field::Kind::kText) return printable_utf8(field.value);
  if (field.kind == Field::Kind::kLines) {
    auto lines = nlohmann::json::array();
    if (field.value.empty()) return lines;
    for (const std::string_view line : split(field.value, '\n')) lines.push_back(one_line(line));
    return lines;
  }
  auto number = nlohmann::json::parse(field.value, nullptr, /*allow_exceptions=*/false);
  return number.is_discarded() ? nlohmann::json(one_line(field.value)) : number;  // "inf" is none
}

std::string as_json(WallTime time, Level level, const Place& place, std::string_view event,
                    std::initializer_list<Field> fields) {
  nlohmann::json object{{"time", format_utc_ms(time)}, {"level", word_of(level)}, {"event", event}};
  const std::pair<const char*, const std::string*> head[] = {
      {"job", &place.job}, {"run_id", &place.run_id}, {"node", &place.node}};
  for (const auto& [key, value] : head) {
    if (!value->empty()) object[key] = one_line(*value);
  }
  for (const Field& field : fields) {
    const std::string key(field.key);
    auto value = json_value(field);
    const auto said = object.find(key);
    if (said != object.end() && *said == value) continue;
    object[said == object.end() ? key : "event_" + key] = std::move(value);
  }
  return dump_json(object);
}

void tell_recorder(Logger& log, const Event& event) {
  if (!log.recorder || log.records) return;
  log.records = true;
  log.recorder(event);
  log.records = false;
}

}  // namespace

std::string_view word_of(Level level) {
  switch (level) {
    case Level::kDebug:
      return "debug";
    case Level::kInfo:
      return "info";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
    case Level::kOff:
      return "off";
  }
  return "off";
}

Field::Field(std::string_view field_key, Duration duration)
    : key(field_key), value(fmt::format("{:.3f}", to_seconds(duration))), kind(Kind::kLiteral) {}

Field::Field(std::string_view field_key, const std::vector<std::string>& lines)
    : key(field_key), value(join(lines, "\n")), kind(Kind::kLines) {}

Field Field::of_json(std::string_view field_key, const std::string& json) {
  Field field(field_key, json);
  field.kind = Kind::kLiteral;
  return field;
}

Field Field::for_programs(std::string_view field_key, uint64_t number) {
  Field field(field_key, number);
  field.kind = Kind::kQuiet;
  return field;
}

std::string json_of(const Field& field) { return dump_json(json_value(field)); }

void write(Level level, std::string_view event, std::initializer_list<Field> fields) {
  Logger& log = instance();
  if (level >= Level::kInfo) tell_recorder(log, {level, event, fields});
  if (!log.logger.should_log(to_spdlog(level))) return;
  const WallTime now = SystemClock().wall_now();
  const std::string line = log.format == Format::kJson
                               ? as_json(now, level, log.place, event, fields)
                               : as_text(now, level, event, fields);
  log.logger.log(to_spdlog(level), spdlog::string_view_t(line));
}

void record(Level level, std::string_view event, std::initializer_list<Field> fields) {
  tell_recorder(instance(), {level, event, fields});
}

void set_recorder(std::function<void(const Event& event)> recorder) {
  instance().recorder = std::move(recorder);
}

void set_level(Level level) { instance().logger.set_level(to_spdlog(level)); }

void set_format(Format format) { instance().format = format; }

Format format() { return instance().format; }

void set_place(Place place) { instance().place = std::move(place); }

std::optional<Level> parse_level(std::string_view text) {
  const std::string word = to_lower(text);
  if (word == "debug") return Level::kDebug;
  if (word == "info") return Level::kInfo;
  if (word == "warning" || word == "warn") return Level::kWarning;
  if (word == "error" || word == "critical") return Level::kError;
  if (word == "off") return Level::kOff;
  return std::nullopt;
}

void set_sink(std::function<void(std::string_view line)> sink) {
  if (sink) {
    instance().sink->target = std::move(sink);
  } else {
    instance().sink->target = write_to_stderr;
  }
}

}  // namespace muster::log
