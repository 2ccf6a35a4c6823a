#include "launcher/sidecar/journal_event.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "launcher/journal/journal_line.h"

namespace muster::launcher {

namespace {

std::string text_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string number_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->dump() : "";
}

}  // namespace

std::optional<JournalEvent> parse_event(std::string_view line) {
  const auto object = parse_json(line, kMaxJournalLineBytes);
  if (!object || !object->is_object()) return std::nullopt;
  const auto seq = object->find("seq");
  if (seq == object->end() || !seq->is_number_unsigned()) return std::nullopt;
  JournalEvent event;
  event.mark = {seq->get<uint64_t>(), text_of(*object, "id")};
  event.name = text_of(*object, "event");
  if (event.mark.seq == 0 || event.mark.id.empty() || event.name.empty()) return std::nullopt;
  event.job = text_of(*object, "job");
  event.run_id = text_of(*object, "run_id");
  event.node = text_of(*object, "node");
  event.line = std::string(line);
  if (event.name == "progress") {
    event.replaces = event.mark.id.substr(0, event.mark.id.find('-')) + "/" +
                     number_of(*object, "attempt") + "/" + number_of(*object, "rank");
  }
  return event;
}

// {"id":"17e77fe6070a-2","seq":2,…: journal_line.cc writes it so.
std::optional<JournalMark> mark_of(std::string_view line) {
  constexpr std::string_view kId = "{\"id\":\"";
  constexpr std::string_view kSeq = "\",\"seq\":";
  if (!line.starts_with(kId)) return std::nullopt;
  line.remove_prefix(kId.size());
  const size_t end = line.find('"');
  if (end == std::string_view::npos || !line.substr(end).starts_with(kSeq)) return std::nullopt;
  const std::string_view digits = line.substr(end + kSeq.size());
  const auto seq = parse_integer(digits.substr(0, digits.find_first_of(",}")));
  if (!seq || *seq <= 0) return std::nullopt;
  return JournalMark{static_cast<uint64_t>(*seq), std::string(line.substr(0, end))};
}

}  // namespace muster::launcher
