#include "rendezvous/xgboost/tracker_protocol.h"

#include <fmt/core.h>

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::rendezvous {

namespace {

constexpr int32_t kMagic = 0xff99;
constexpr size_t kNumberBytes = sizeof(int32_t);
constexpr size_t kMaxCommandBytes = 64;
// A task id of kMaxTaskIdBytes, each of them as \u00xx, and two numbers.
constexpr size_t kMaxHeaderBytes = 2048;
constexpr std::string_view kEndedCommand = "muster-ended";

Error malformed(std::string text) { return {Code::kProtocol, 0, std::move(text)}; }

Error too_much(std::string_view what, int64_t value, int64_t limit) {
  return {Code::kLimit, 0, fmt::format("{}: {}, limit {}", what, value, limit)};
}

// All machines of a job have the same byte order: XGBoost sends its own.
void append_number(std::string& bytes, int32_t number) {
  char raw[kNumberBytes];
  std::memcpy(raw, &number, sizeof raw);
  bytes.append(raw, sizeof raw);
}

void append_text(std::string& bytes, std::string_view text) {
  append_number(bytes, static_cast<int32_t>(text.size()));
  bytes += text;
}

// A member that must be a whole number of that range.
Result<int64_t> whole_number(const nlohmann::json& object, const char* name, int64_t least,
                             int64_t most) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_number_integer())
    return malformed(fmt::format("no whole number \"{}\"", name));
  const auto number = member->get<int64_t>();
  if (number < least || number > most)
    return malformed(fmt::format("\"{}\" is {}, not {} to {}", name, number, least, most));
  return number;
}

Result<std::string> words(const nlohmann::json& object, const char* name) {
  const auto member = object.find(name);
  if (member == object.end() || !member->is_string())
    return malformed(fmt::format("no text \"{}\"", name));
  return member->get<std::string>();
}

Result<nlohmann::json> parse_object(std::string_view text) {
  auto parsed = parse_json(text, kMaxTrackerTextBytes);
  if (parsed && !parsed->is_object()) return malformed("not a JSON object");
  return parsed;
}

Result<TrackerMessage> read_command(const nlohmann::json& object) {
  constexpr int64_t kMost = INT32_MAX;
  auto command = whole_number(object, "cmd", 0, kMost);
  if (!command) return std::move(command).error();
  switch (*command) {
    case 1: {
      auto port = whole_number(object, "port", 1, UINT16_MAX);
      if (!port) return std::move(port).error();
      auto error_port = whole_number(object, "error_port", 0, UINT16_MAX);
      if (!error_port) return std::move(error_port).error();
      return TrackerMessage(
          tracker::Start{static_cast<uint16_t>(*port), static_cast<uint16_t>(*error_port)});
    }
    case 2:
      return TrackerMessage(tracker::Shutdown{});
    case 3: {
      auto code = whole_number(object, "code", INT64_MIN, INT64_MAX);
      if (!code) return std::move(code).error();
      auto text = words(object, "msg");
      if (!text) return std::move(text).error();
      return TrackerMessage(tracker::Signal{*code, printable_utf8(*text)});
    }
    case 4: {
      auto text = words(object, "msg");
      if (!text) return std::move(text).error();
      return TrackerMessage(tracker::Print{printable_utf8(*text)});
    }
    default:
      return malformed(fmt::format("command {}", *command));
  }
}

std::string encode_json(const nlohmann::json& object) {
  std::string bytes;
  append_text(bytes, dump_json(object));
  return bytes;
}

}  // namespace

std::string_view to_string(TrackerWire wire) {
  return wire == TrackerWire::kClassic ? "XGBoost 2.0 or older" : "XGBoost 2.1 or newer";
}

TrackerDecoder::Next TrackerDecoder::next() {
  switch (phase_) {
    case Phase::kMagic:
      return magic();
    case Phase::kHeader:
      return header();
    case Phase::kCommand:
      return wire_ == TrackerWire::kClassic ? classic_command() : json_command();
    case Phase::kGoodLinks:
      return good_links();
    case Phase::kLinksFailed:
      return links_failed();
    case Phase::kListening:
      return listening();
    case Phase::kNothing:
      if (!bytes_.empty()) return malformed("more bytes after the last word of a call");
      return std::optional<TrackerMessage>();
  }
  return std::optional<TrackerMessage>();
}

// None: it is not there yet.
std::optional<int32_t> TrackerDecoder::number_at(size_t offset) const {
  if (bytes_.size() < offset + kNumberBytes) return std::nullopt;
  int32_t number = 0;
  std::memcpy(&number, bytes_.data() + offset, sizeof number);
  return number;
}

// None: it is not all there yet.
Result<std::optional<std::string_view>> TrackerDecoder::text_at(size_t offset,
                                                                size_t limit_bytes) const {
  const auto size = number_at(offset);
  if (!size) return std::optional<std::string_view>();
  if (*size < 0) return malformed(fmt::format("a text of {} bytes", *size));
  const auto length = static_cast<size_t>(*size);
  if (length > limit_bytes)
    return too_much("bytes of a text", *size, static_cast<int64_t>(limit_bytes));
  const size_t begin = offset + kNumberBytes;
  if (bytes_.size() < begin + length) return std::optional<std::string_view>();
  return std::optional(std::string_view(bytes_).substr(begin, length));
}

TrackerMessage TrackerDecoder::take(size_t bytes, Phase next, TrackerMessage message) {
  bytes_.erase(0, bytes);
  phase_ = next;
  return message;
}

TrackerDecoder::Next TrackerDecoder::magic() {
  const auto number = number_at(0);
  if (!number) return std::optional<TrackerMessage>();
  if (*number != kMagic) return malformed("no magic number");
  return take(kNumberBytes, Phase::kHeader, tracker::Greeting{});
}

// A JSON object begins behind its length. At the same place a classic worker has the number of
// workers, which is -1 or small.
TrackerDecoder::Next TrackerDecoder::header() {
  if (bytes_.size() < 2 * kNumberBytes) return std::optional<TrackerMessage>();
  const bool is_json = bytes_[kNumberBytes] == '{' && bytes_[kNumberBytes + 1] == '"';
  wire_ = is_json ? TrackerWire::kJson : TrackerWire::kClassic;
  return is_json ? json_header() : classic_header();
}

TrackerDecoder::Next TrackerDecoder::classic_header() {
  const int32_t rank = *number_at(0);
  const int32_t world_size = *number_at(kNumberBytes);
  if (rank < -1 || rank >= kMaxTrackerWorkers) return malformed(fmt::format("rank {}", rank));
  if (world_size < -1) return malformed(fmt::format("{} workers", world_size));
  if (world_size > kMaxTrackerWorkers) return too_much("workers", world_size, kMaxTrackerWorkers);
  auto task_id = text_at(2 * kNumberBytes, kMaxTaskIdBytes);
  if (!task_id) return std::move(task_id).error().with_context("the task id");
  if (!*task_id) return std::optional<TrackerMessage>();
  const size_t size = 3 * kNumberBytes + (*task_id)->size();
  tracker::Header header{TrackerWire::kClassic, rank, world_size, std::string(**task_id)};
  return take(size, Phase::kCommand, std::move(header));
}

TrackerDecoder::Next TrackerDecoder::json_header() {
  auto text = text_at(0, kMaxHeaderBytes);
  if (!text) return std::move(text).error().with_context("the header");
  if (!*text) return std::optional<TrackerMessage>();
  const size_t size = kNumberBytes + (*text)->size();
  auto object = parse_object(**text);
  if (!object) return std::move(object).error();
  auto rank = whole_number(*object, "rank", -1, kMaxTrackerWorkers - 1);
  if (!rank) return std::move(rank).error();
  auto world_size = whole_number(*object, "world_size", -1, kMaxTrackerWorkers);
  if (!world_size) return std::move(world_size).error();
  auto task_id = words(*object, "task_id");
  if (!task_id) return std::move(task_id).error();
  if (task_id->size() > kMaxTaskIdBytes)
    return too_much("bytes of the task id", static_cast<int64_t>(task_id->size()), kMaxTaskIdBytes);
  tracker::Header header{TrackerWire::kJson, static_cast<int>(*rank), static_cast<int>(*world_size),
                         std::move(*task_id)};
  return take(size, Phase::kCommand, std::move(header));
}

TrackerDecoder::Next TrackerDecoder::classic_command() {
  auto command = text_at(0, kMaxCommandBytes);
  if (!command) return std::move(command).error().with_context("the command");
  if (!*command) return std::optional<TrackerMessage>();
  const std::string name(**command);
  const size_t size = kNumberBytes + name.size();
  if (name == "start") return take(size, Phase::kGoodLinks, tracker::Start{});
  if (name == "shutdown") return take(size, Phase::kNothing, tracker::Shutdown{});
  const bool prints = name == "print";
  if (!prints && name != kEndedCommand)
    return malformed("the command is '" + one_line(name) + "', not start, print or shutdown");
  auto text = text_at(size, kMaxTrackerTextBytes);
  if (!text) return std::move(text).error().with_context(name);
  if (!*text) return std::optional<TrackerMessage>();
  const size_t all = size + kNumberBytes + (*text)->size();
  if (prints) return take(all, Phase::kNothing, tracker::Print{printable_utf8(**text)});
  return take(all, Phase::kNothing, tracker::Ended{**text == "0"});
}

TrackerDecoder::Next TrackerDecoder::json_command() {
  auto text = text_at(0, kMaxTrackerTextBytes);
  if (!text) return std::move(text).error().with_context("the command");
  if (!*text) return std::optional<TrackerMessage>();
  const size_t size = kNumberBytes + (*text)->size();
  auto object = parse_object(**text);
  if (!object) return std::move(object).error();
  auto message = read_command(*object);
  if (!message) return std::move(message).error();
  return take(size, Phase::kNothing, std::move(*message));
}

TrackerDecoder::Next TrackerDecoder::good_links() {
  const auto count = number_at(0);
  if (!count) return std::optional<TrackerMessage>();
  if (*count < 0) return malformed(fmt::format("{} links", *count));
  if (*count > kMaxGoodLinks) return too_much("links", *count, kMaxGoodLinks);
  const size_t size = kNumberBytes * (1 + static_cast<size_t>(*count));
  if (bytes_.size() < size) return std::optional<TrackerMessage>();
  tracker::GoodLinks good;
  for (size_t at = kNumberBytes; at < size; at += kNumberBytes)
    good.ranks.push_back(*number_at(at));
  return take(size, Phase::kLinksFailed, std::move(good));
}

TrackerDecoder::Next TrackerDecoder::links_failed() {
  const auto count = number_at(0);
  if (!count) return std::optional<TrackerMessage>();
  if (*count < 0) return malformed(fmt::format("{} failed links", *count));
  return take(kNumberBytes, *count == 0 ? Phase::kListening : Phase::kGoodLinks,
              tracker::LinksFailed{*count});
}

TrackerDecoder::Next TrackerDecoder::listening() {
  const auto port = number_at(0);
  if (!port) return std::optional<TrackerMessage>();
  if (*port < 1 || *port > UINT16_MAX) return malformed(fmt::format("port {}", *port));
  return take(kNumberBytes, Phase::kNothing, tracker::Listening{static_cast<uint16_t>(*port)});
}

std::string encode_magic() {
  std::string bytes;
  append_number(bytes, kMagic);
  return bytes;
}

std::string encode_place(const TrackerPlace& place) {
  std::string bytes;
  for (const int number :
       {place.rank, place.parent, place.world_size, static_cast<int>(place.tree.size())})
    append_number(bytes, number);
  for (const int neighbour : place.tree) append_number(bytes, neighbour);
  append_number(bytes, place.previous);
  append_number(bytes, place.next);
  return bytes;
}

std::string encode_links(const std::vector<TrackerPeer>& dial, int accept) {
  std::string bytes;
  append_number(bytes, static_cast<int32_t>(dial.size()));
  append_number(bytes, accept);
  for (const TrackerPeer& peer : dial) {
    append_text(bytes, peer.host);
    append_number(bytes, peer.port);
    append_number(bytes, peer.rank);
  }
  return bytes;
}

std::string encode_world_size(int world_size) { return encode_json({{"world_size", world_size}}); }

std::string encode_successor(const TrackerPeer& successor) {
  return encode_json(
      {{"host", successor.host}, {"port", successor.port}, {"rank", successor.rank}});
}

std::string encode_abort() {
  std::string bytes;
  append_number(bytes, 1);
  return bytes;
}

std::string encode_ended(int rank, int world_size, bool success) {
  std::string bytes = encode_magic();
  append_number(bytes, rank);
  append_number(bytes, world_size);
  append_text(bytes, std::to_string(rank));
  append_text(bytes, kEndedCommand);
  append_text(bytes, success ? "0" : "1");
  return bytes;
}

}  // namespace muster::rendezvous
