#include "rendezvous/message_json.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/agent_fields.h"
#include "rendezvous/control_protocol.h"
#include "rendezvous/control_writer.h"
#include "rendezvous/leader_fields.h"

namespace muster::rendezvous {

namespace {

using nlohmann::json;
// The other visitor of the fields is in control_writer.h.
class Reader {
 public:
  explicit Reader(const json& object) : object_(object) {
    if (!object.is_object()) fail("not an object", "message");
  }
  void text(const char* key, std::string& value, size_t limit) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_string()) return fail("not a string", key);
    value = found->get_ref<const std::string&>();
    if (value.size() > limit) fail(fmt::format("longer than {} bytes", limit), key);
  }
  void bytes(const char* key, std::string& value, size_t limit) {
    std::string encoded;
    text(key, encoded, kMaxFrameBytes);
    auto decoded = from_base64(encoded);
    if (!decoded) return fail("not base64", key);
    value = std::move(*decoded);
    if (value.size() > limit) fail(fmt::format("longer than {} bytes", limit), key);
  }
  template <typename T>
  void number(const char* key, T& value, Range range) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (const auto checked = integer(*found, key, range)) value = static_cast<T>(*checked);
  }
  void number(const char* key, uint64_t& value) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (!found->is_number_unsigned()) return fail("not a number >= 0", key);
    value = found->get<uint64_t>();
  }
  void flag(const char* key, bool& value) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (!found->is_boolean()) return fail("not true or false", key);
    value = found->get<bool>();
  }
  void optional_number(const char* key, std::optional<int>& value, Range range) {
    const json* found = find(key);
    if (found == nullptr) return;
    if (const auto checked = integer(*found, key, range)) value = static_cast<int>(*checked);
  }
  template <typename T>
  void object(const char* key, T& value) {
    const json* found = find(key);
    if (found == nullptr) return fail("missing", key);
    read(*found, value);
  }
  template <typename T>
  void optional_object(const char* key, std::optional<T>& value) {
    const json* found = find(key);
    if (found != nullptr) read(*found, value.emplace());
  }
  template <typename T>
  void list(const char* key, std::vector<T>& values, size_t limit) {
    const json* found = array(key, limit);
    if (found == nullptr) return;
    for (const json& entry : *found) {
      if (problem_.empty()) read(entry, values.emplace_back());
    }
  }
  template <typename T>
  void numbers(const char* key, std::vector<T>& values, size_t limit, Range range) {
    const json* found = array(key, limit);
    if (found == nullptr) return;
    for (const json& entry : *found) {
      if (const auto checked = integer(entry, key, range)) {
        values.push_back(static_cast<T>(*checked));
      }
    }
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  void read(const json& from, T& value);
  const json* find(const char* key) {
    if (!problem_.empty()) return nullptr;
    const auto found = object_.find(key);
    return found == object_.end() ? nullptr : &*found;
  }
  const json* array(const char* key, size_t limit) {
    const json* found = find(key);
    if (found == nullptr) return nullptr;
    if (!found->is_array()) fail("not a list", key);
    if (found->size() > limit) fail(fmt::format("more than {} entries", limit), key);
    return problem_.empty() ? found : nullptr;
  }
  std::optional<int64_t> integer(const json& value, const char* key, Range range) {
    const bool too_big =
        value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(range.high);
    if (value.is_number_integer() && !too_big) {
      const auto number = value.get<int64_t>();
      if (number >= range.low && number <= range.high) return number;
    }
    fail(fmt::format("not a whole number in {}..{}", range.low, range.high), key);
    return std::nullopt;
  }
  void fail(std::string_view what, std::string_view key) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", key, what);
  }

  const json& object_;
  std::string problem_;  // the first one; later fields are not read
};

}  // namespace

template <typename T>
void Writer::write(std::string& out, T& value) {
  out += '{';
  Writer writer(out, true);
  fields(writer, value);
  out += '}';
}

namespace {

template <typename T>
void Reader::read(const json& from, T& value) {
  Reader reader(from);
  fields(reader, value);
  if (problem_.empty()) problem_ = reader.problem();
}

// By position in Message; the static_assert keeps the two in step.
constexpr std::array<std::string_view, 23> kNames = {
    "hello",    "join",           "heartbeat",    "started",      "succeeded", "failed",
    "stopped",  "leaving",        "goodbye",      "welcome",      "refuse",    "ack",
    "waiting",  "assign",         "stop",         "notice",       "fence",     "finish",
    "handover", "status_request", "status_reply", "contribution", "exchanged"};
static_assert(kNames.size() == std::variant_size_v<Message>);

// Both ends can say that they speak different versions, whatever else these have in common
// (CONTROL_PROTOCOL.md). What comes first was read.
bool is_of_another_version(const Hello& hello) { return hello.version != kControlVersion; }
bool is_of_another_version(const Refuse& refuse) { return refuse.code == RefuseCode::kVersion; }
template <typename T>
bool is_of_another_version(const T& /*others*/) {
  return false;
}

template <size_t Index>
Result<Message> read_as(const json& object) {
  std::variant_alternative_t<Index, Message> message;
  Reader reader(object);
  fields(reader, message);
  if (!reader.problem().empty() && !is_of_another_version(message)) {
    return Error{Code::kProtocol, 0,
                 fmt::format("control message '{}': {}", kNames[Index], reader.problem())};
  }
  return Message(std::move(message));
}

template <size_t... Index>
Result<Message> read_message(size_t type, const json& object,
                             std::index_sequence<Index...> /*all*/) {
  using Read = Result<Message> (*)(const json&);
  constexpr std::array<Read, sizeof...(Index)> kReaders = {&read_as<Index>...};
  return kReaders[type](object);
}

}  // namespace

std::string_view name_of(const Message& message) { return kNames[message.index()]; }

Result<Message> parse_message(std::string_view text) {
  auto object = parse_json(text, kMaxFrameBytes);
  if (!object) return std::move(object).error().with_context("control message");
  const auto type = object->is_object() ? object->find("type") : object->end();
  if (type == object->end() || !type->is_string()) {
    return Error{Code::kProtocol, 0, "control message without a type"};
  }
  const auto& name = type->get_ref<const std::string&>();
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return read_message(i, *object, std::make_index_sequence<kNames.size()>());
    }
  }
  return Error{
      Code::kProtocol, 0,
      fmt::format("control message of unknown type '{}'", quote_if_needed(clip_utf8(name, 32)))};
}

void append_message(std::string& out, Message& message) {
  out += fmt::format(R"({{"type":"{}")", name_of(message));
  Writer writer(out, false);
  std::visit([&writer](auto& body) { fields(writer, body); }, message);
  out += '}';
}

}  // namespace muster::rendezvous
