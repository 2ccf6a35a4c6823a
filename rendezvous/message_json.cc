#include "rendezvous/message_json.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "rendezvous/agent_fields.h"
#include "rendezvous/control_protocol.h"
#include "rendezvous/control_writer.h"
#include "rendezvous/json_tree.h"
#include "rendezvous/leader_fields.h"

namespace muster::rendezvous {

namespace {

// The other visitor of the fields is in control_writer.h.
class Reader {
 public:
  Reader(const JsonTree& tree, const JsonNode& object) : tree_(tree), object_(object) {
    if (object.kind != JsonKind::kObject) fail("not an object", "message");
  }
  void text(const char* key, std::string& value, size_t limit) {
    const JsonNode* found = find(key);
    if (found == nullptr) return;
    if (found->kind != JsonKind::kText) return fail("not a string", key);
    value = found->text;
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
    const JsonNode* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (const auto checked = integer(*found, key, range)) value = static_cast<T>(*checked);
  }
  void number(const char* key, uint64_t& value) {
    const JsonNode* found = find(key);
    if (found == nullptr) return fail("missing", key);
    if (found->kind != JsonKind::kUnsigned) return fail("not a number >= 0", key);
    value = static_cast<uint64_t>(found->number);
  }
  void flag(const char* key, bool& value) {
    const JsonNode* found = find(key);
    if (found == nullptr) return;
    if (found->kind != JsonKind::kBoolean) return fail("not true or false", key);
    value = found->flag;
  }
  void optional_number(const char* key, std::optional<int>& value, Range range) {
    const JsonNode* found = find(key);
    if (found == nullptr) return;
    if (const auto checked = integer(*found, key, range)) value = static_cast<int>(*checked);
  }
  template <typename T>
  void object(const char* key, T& value) {
    const JsonNode* found = find(key);
    if (found == nullptr) return fail("missing", key);
    read(*found, value);
  }
  template <typename T>
  void optional_object(const char* key, std::optional<T>& value) {
    const JsonNode* found = find(key);
    if (found != nullptr) read(*found, value.emplace());
  }
  template <typename T>
  void list(const char* key, std::vector<T>& values, size_t limit) {
    const JsonNode* found = array(key, limit);
    if (found == nullptr) return;
    for (const JsonNode* each = tree_.first(*found); each && problem_.empty();
         each = tree_.next(*found, *each))
      read(*each, values.emplace_back());
  }
  template <typename T>
  void numbers(const char* key, std::vector<T>& values, size_t limit, Range range) {
    const JsonNode* found = array(key, limit);
    if (found == nullptr) return;
    for (const JsonNode* each = tree_.first(*found); each; each = tree_.next(*found, *each)) {
      if (const auto checked = integer(*each, key, range)) {
        values.push_back(static_cast<T>(*checked));
      }
    }
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  template <typename T>
  void read(const JsonNode& from, T& value);
  const JsonNode* find(const char* key) {
    return problem_.empty() ? tree_.find(object_, key) : nullptr;
  }
  const JsonNode* array(const char* key, size_t limit) {
    const JsonNode* found = find(key);
    if (found == nullptr) return nullptr;
    if (found->kind != JsonKind::kArray) fail("not a list", key);
    size_t entries = 0;
    for (const JsonNode* each = tree_.first(*found); each; each = tree_.next(*found, *each))
      ++entries;
    if (entries > limit) fail(fmt::format("more than {} entries", limit), key);
    return problem_.empty() ? found : nullptr;
  }
  std::optional<int64_t> integer(const JsonNode& value, const char* key, Range range) {
    // What does not fit into 63 bits is negative here, or beyond every range.
    const bool whole = value.kind == JsonKind::kInteger ||
                       (value.kind == JsonKind::kUnsigned && value.number >= 0);
    if (whole && value.number >= range.low && value.number <= range.high) return value.number;
    fail(fmt::format("not a whole number in {}..{}", range.low, range.high), key);
    return std::nullopt;
  }
  void fail(std::string_view what, std::string_view key) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", key, what);
  }

  const JsonTree& tree_;
  const JsonNode& object_;
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
void Reader::read(const JsonNode& from, T& value) {
  Reader reader(tree_, from);
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
Result<Message> read_as(const JsonTree& tree) {
  std::variant_alternative_t<Index, Message> message;
  Reader reader(tree, tree.root());
  fields(reader, message);
  if (!reader.problem().empty() && !is_of_another_version(message)) {
    return Error{Code::kProtocol, 0,
                 fmt::format("control message '{}': {}", kNames[Index], reader.problem())};
  }
  return Message(std::move(message));
}

template <size_t... Index>
Result<Message> read_message(size_t type, const JsonTree& tree,
                             std::index_sequence<Index...> /*all*/) {
  using Read = Result<Message> (*)(const JsonTree&);
  constexpr std::array<Read, sizeof...(Index)> kReaders = {&read_as<Index>...};
  return kReaders[type](tree);
}

}  // namespace

std::string_view name_of(const Message& message) { return kNames[message.index()]; }

Result<Message> parse_message(std::string_view text) {
  const auto tree = JsonTree::parse(text, kMaxFrameBytes);
  if (!tree) return Error(tree.error()).with_context("control message");
  const JsonNode* type = tree->find(tree->root(), "type");
  if (type == nullptr || type->kind != JsonKind::kText) {
    return Error{Code::kProtocol, 0, "control message without a type"};
  }
  const std::string_view name = type->text;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) {
      return read_message(i, *tree, std::make_index_sequence<kNames.size()>());
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
