#include "launcher/dashboard/webhook.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr int kVersion = 1;

Error malformed(std::string text) { return {Code::kProtocol, 0, std::move(text)}; }

// A text that must be there.
Result<std::string> name_in(const json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return malformed(fmt::format("'{}' is missing", key));
  if (!found->is_string()) return malformed(fmt::format("'{}' is no text", key));
  const auto& text = found->get_ref<const std::string&>();
  if (text.empty()) return malformed(fmt::format("'{}' is empty", key));
  if (text.size() > kMaxWebhookNameBytes)
    return malformed(
        fmt::format("'{}' has {} bytes, at most {}", key, text.size(), kMaxWebhookNameBytes));
  return text;
}

// What is too long without the fields of the event.
std::string kept_body(const json& event) {
  std::string body = dump_json(event);
  if (body.size() <= kMaxKeptEventBytes) return body;
  json head = {{"cut", true}};
  for (const char* key : {"id", "time", "event", "node"})
    if (const auto found = event.find(key); found != event.end()) head[key] = *found;
  for (const char* key : {"seq", "round", "attempt", "rank", "code"})
    if (const auto found = event.find(key); found != event.end() && found->is_number())
      head[key] = *found;
  return dump_json(head);
}

// A number that may be there. Nobody counts below 0.
int64_t number_in(const json& event, const char* key, int64_t otherwise) {
  const auto found = event.find(key);
  if (found == event.end() || !found->is_number_integer()) return otherwise;
  const auto number = found->get<int64_t>();
  return number < 0 ? otherwise : number;
}

Result<WebhookEvent> read_event(json& event) {
  if (!event.is_object()) return malformed("is no object");
  make_printable(event);
  WebhookEvent read;
  auto id = name_in(event, "id");
  if (!id) return std::move(id).error();
  auto name = name_in(event, "event");
  if (!name) return std::move(name).error();
  const auto time = name_in(event, "time");
  if (!time) return Error(time.error());
  const auto time_ms = parse_utc_ms(*time);
  if (!time_ms) return malformed("'time' is no time in UTC such as 2026-11-27T21:07:51.192Z");
  read.id = *std::move(id);
  read.name = *std::move(name);
  read.time_ms = *time_ms;
  read.seq = number_in(event, "seq", 0);
  read.rank = number_in(event, "rank", INT64_MAX);
  if (read.name == kNamedEvent && event.contains("was")) {
    auto was = name_in(event, "was");
    if (!was) return std::move(was).error();
    read.was = one_line(*was);
  }
  const auto level = event.find("level");
  const bool has_level = level != event.end() && level->is_string();
  read.worth = worth_of(read.name, has_level ? level->get_ref<const std::string&>() : "");
  read.body = kept_body(event);
  return read;
}

std::optional<int> digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// "" or ".192", of up to nine digits, as milliseconds.
std::optional<int> milliseconds(std::string_view fraction) {
  if (fraction.empty()) return 0;
  if (fraction.size() < 2 || fraction.size() > 10 || fraction[0] != '.') return std::nullopt;
  std::string three(fraction.substr(1));
  if (!digits(three)) return std::nullopt;
  three.resize(3, '0');
  return digits(three);
}

}  // namespace

int64_t worth_of(std::string_view name, std::string_view level) {
  constexpr std::array<std::string_view, 6> kMany = {
      "worker.exit", "round.start", "round.stop", "round.waiting", "round.running", "node.joined"};
  if (name == "job.start" || name == "job.failure") return 2;
  const bool many = std::ranges::find(kMany, name) != kMany.end();
  return many && level != "warning" && level != "error" ? 0 : 1;
}

std::optional<int64_t> parse_utc_ms(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() <= kForm.size() || text.back() != 'Z') return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i)
    if (kForm[i] != '0' && text[i] != kForm[i]) return std::nullopt;
  const auto part = [text](size_t at, size_t size) {
    return digits(text.substr(at, size)).value_or(-1);
  };
  using std::chrono::day, std::chrono::month, std::chrono::year;
  const int hour = part(11, 2);
  const int minute = part(14, 2);
  const int second = part(17, 2);
  const auto fraction = milliseconds(text.substr(kForm.size(), text.size() - kForm.size() - 1));
  const std::chrono::year_month_day date{year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                                         day(static_cast<unsigned>(part(8, 2)))};
  const bool fits =
      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60;
  if (!date.ok() || date.year() < year(1970) || !fits || !fraction) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(days).count() +
                          hour * 3600 + minute * 60 + second;
  return seconds * 1000 + *fraction;
}

Result<WebhookBatch> read_webhook(std::string_view body) {
  auto parsed = parse_json(body, kMaxWebhookBytes);
  if (!parsed) return std::move(parsed).error();
  json& root = *parsed;
  if (!root.is_object()) return malformed("the body is no JSON object");
  if (root.value("version", json()) != kVersion)
    return malformed(fmt::format("'version' is not {}", kVersion));
  const auto events = root.find("events");
  if (events == root.end() || !events->is_array()) return malformed("'events' is no list");
  WebhookBatch batch;
  for (const auto& [key, into] : {std::pair("job", &batch.job), std::pair("node", &batch.node)}) {
    auto name = name_in(root, key);
    if (!name) return std::move(name).error();
    *into = one_line(*name);
  }
  batch.events.reserve(events->size());
  for (json& event : *events) {
    auto read = read_event(event);
    if (!read)
      return std::move(read).error().with_context(fmt::format("events[{}]", batch.events.size()));
    batch.events.push_back(*std::move(read));
  }
  return batch;
}

}  // namespace muster::launcher
