#include "launcher/journal/journal_line.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/log_words.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

constexpr std::array<std::string_view, 4> kNumbers = {"round", "attempt", "rank", "code"};

// Builds an object key by key: a library's would sort them, and people read the head first.
class LineWriter {
 public:
  void text(std::string_view key, std::string_view value) {
    begin(key);
    append_json(line_, one_line(value));
  }
  void json(std::string_view key, std::string_view value) {
    begin(key);
    line_ += value;
  }
  std::string end() && {
    line_ += "}\n";
    return std::move(line_);
  }
  [[nodiscard]] size_t size() const { return line_.size(); }

 private:
  void begin(std::string_view key) {
    line_ += line_.empty() ? '{' : ',';
    append_json(line_, key);
    line_ += ':';
  }
  std::string line_;
};

LineWriter head_of(const JournalPlace& place, const JournalStamp& stamp, const log::Event& event) {
  const auto since_boot =
      std::chrono::duration_cast<std::chrono::milliseconds>(stamp.monotonic.time_since_epoch());
  LineWriter line;
  line.text("id", stamp.id);
  line.json("seq", std::to_string(stamp.seq));
  line.text("time", format_utc_ms(stamp.time));
  line.json("monotonic_ms", std::to_string(since_boot.count()));
  line.text("level", log::word_of(event.level));
  line.text("event", event.name);
  line.text("job", place.job);
  line.text("run_id", place.run_id);
  line.text("node", place.node);
  return line;
}

// What the head says under that name; none: it has no such name.
std::optional<std::string_view> said_by_head(const JournalPlace& place, std::string_view key) {
  if (key == "job") return place.job;
  if (key == "run_id") return place.run_id;
  if (key == "node") return place.node;
  constexpr std::array<std::string_view, 6> kOthers = {"id",           "seq",   "time",
                                                       "monotonic_ms", "level", "event"};
  return std::ranges::find(kOthers, key) == kOthers.end() ? std::nullopt
                                                          : std::optional(std::string_view());
}

void add(LineWriter& line, const JournalPlace& place, const log::Field& field) {
  if (field.value.empty()) return;
  const bool literal =
      field.kind == log::Field::Kind::kLiteral || field.kind == log::Field::Kind::kQuiet;
  if (!literal && std::ranges::find(kNumbers, field.key) != kNumbers.end()) return;
  const auto said = said_by_head(place, field.key);
  if (said && *said == field.value) return;
  line.json(said ? "event_" + std::string(field.key) : std::string(field.key), log::json_of(field));
}

}  // namespace

std::string journal_line(const JournalPlace& place, const JournalStamp& stamp,
                         const log::Event& event) {
  LineWriter line = head_of(place, stamp, event);
  for (const log::Field& field : event.fields) add(line, place, field);
  if (line.size() + 2 <= kMaxJournalLineBytes) return std::move(line).end();
  LineWriter head = head_of(place, stamp, event);
  head.json("cut", "true");
  return std::move(head).end();
}

std::optional<uint64_t> seq_of_line(std::string_view line) {
  const auto object = parse_json(line, kMaxJournalLineBytes);
  if (!object || !object->is_object()) return std::nullopt;
  const auto seq = object->find("seq");
  if (seq == object->end() || !seq->is_number_unsigned() || !object->contains("event"))
    return std::nullopt;
  return seq->get<uint64_t>();
}

}  // namespace muster::launcher
