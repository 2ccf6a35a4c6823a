#include "launcher/journal/journal_tally.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "launcher/journal/journal_line.h"

namespace muster::launcher {

namespace {

// Both stand in the head, whose values hold no quotes but their own.
std::optional<std::string_view> behind(std::string_view line, std::string_view key, char end) {
  const size_t found = line.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  line.remove_prefix(found + key.size());
  return line.substr(0, line.find(end));
}

uint64_t number(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

}  // namespace

void JournalTally::add(std::string_view line) {
  const auto digits = behind(line, "\"seq\":", ',');
  const auto name = behind(line, "\"event\":\"", '"');
  const auto seq = digits ? parse_integer(*digits) : std::nullopt;
  if (!seq || *seq <= 0 || !name) return;
  ++events[std::string(*name)];
  widen(static_cast<uint64_t>(*seq), static_cast<uint64_t>(*seq));
}

void JournalTally::add_told(std::string_view line) {
  if (behind(line, "\"event\":\"", '"') != kEventDropped) return;
  const auto object = parse_json(line, kMaxJournalLineBytes);
  if (!object || !object->is_object() || number(*object, "first_seq") == 0) return;
  const auto told = object->find("events");
  if (told == object->end() || !told->is_object()) return;
  for (const auto& [name, count] : told->items()) events[name] += number(*told, name.c_str());
  widen(number(*object, "first_seq"), number(*object, "last_seq"));
}

void JournalTally::widen(uint64_t first, uint64_t last) {
  first_seq = first_seq == 0 ? first : std::min(first_seq, first);
  last_seq = std::max(last_seq, last);
}

std::string JournalTally::events_as_json() const { return dump_json(nlohmann::json(events)); }

}  // namespace muster::launcher
