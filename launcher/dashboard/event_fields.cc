#include "launcher/dashboard/event_fields.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "launcher/dashboard/job_view.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 7> kPhases = {
    "detect", "decide", "stop", "rendezvous", "check", "spawn", "first_progress"};
// Of level info, and still for people.
constexpr std::array<std::string_view, 6> kMoving = {"round.running", "node.joined", "node.back",
                                                     "job.size",      "job.stop",    "job.end"};
// Told in another way: the page shows the failure and the restart themselves.
constexpr std::array<std::string_view, 3> kShownElsewhere = {"job.failure", "restart.timeline",
                                                             "round.broken"};
// The field that says it, the best first.
constexpr std::array<std::string_view, 9> kTexts = {
    "reason", "decision", "first_failure", "failure", "what", "error", "text", "state", "action"};

const json* find(const json& body, std::string_view key) {
  const auto found = body.find(key);
  return found == body.end() ? nullptr : &*found;
}

}  // namespace

EventFields::EventFields(const StoredEvent& event, std::unique_ptr<json> body)
    : event_(&event), body_(std::move(body)) {}
EventFields::EventFields(EventFields&& other) noexcept = default;
EventFields& EventFields::operator=(EventFields&& other) noexcept = default;
EventFields::~EventFields() = default;

std::optional<EventFields> EventFields::read(const StoredEvent& event) {
  auto body = parse_json(event.body, kMaxKeptEventBytes);
  if (!body || !body->is_object()) return std::nullopt;
  return EventFields(event, std::make_unique<json>(*std::move(body)));
}

std::string EventFields::text(std::string_view key) const {
  const json* value = find(*body_, key);
  if (value == nullptr || !value->is_string()) return "";
  return std::string(clip_utf8(value->get_ref<const std::string&>(), kMaxShownText));
}

std::optional<int64_t> EventFields::number(std::string_view key) const {
  const json* value = find(*body_, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  return value->get<int64_t>();
}

std::optional<double> EventFields::real(std::string_view key) const {
  const json* value = find(*body_, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

bool EventFields::flag(std::string_view key) const {
  const json* value = find(*body_, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

std::vector<std::string> EventFields::lines(std::string_view key, size_t most) const {
  std::vector<std::string> lines;
  const json* value = find(*body_, key);
  if (value == nullptr || !value->is_array()) return lines;
  for (size_t i = value->size() - std::min(value->size(), most); i < value->size(); ++i) {
    const json& line = (*value)[i];
    if (line.is_string())
      lines.emplace_back(clip_utf8(line.get_ref<const std::string&>(), kMaxShownText));
  }
  return lines;
}

std::vector<std::pair<std::string, double>> EventFields::phases() const {
  std::vector<std::pair<std::string, double>> phases;
  const json* value = find(*body_, "phases");
  if (value == nullptr || !value->is_object()) return phases;
  for (const std::string_view name : kPhases) {
    const json* seconds = find(*value, name);
    if (seconds != nullptr && seconds->is_number() && seconds->get<double>() >= 0)
      phases.emplace_back(name, seconds->get<double>());
  }
  return phases;
}

std::optional<std::string> EventFields::moment_text() const {
  const std::string level = this->level();
  const bool moving = std::ranges::find(kMoving, name()) != kMoving.end();
  const bool elsewhere = std::ranges::find(kShownElsewhere, name()) != kShownElsewhere.end();
  if (elsewhere || (level != "warning" && level != "error" && !moving)) return std::nullopt;
  std::string said;
  for (const std::string_view key : kTexts) {
    said = text(key);
    if (!said.empty()) break;
  }
  if (name() == "worker.exit")
    if (const auto rank = number("rank")) said = "rank " + std::to_string(*rank) + ": " + said;
  if (name() == "job.end") said = text("result") + ": " + said;
  return said;
}

}  // namespace muster::launcher
