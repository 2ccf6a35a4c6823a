#include "rendezvous/store_protocol.h"

#include <array>
#include <cstring>
#include <optional>

namespace muster::rendezvous {

namespace {

// Everything is in the byte order of the hosts, which PyTorch never converts; all supported hosts
// are little-endian.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr size_t kLengthBytes = 8;
constexpr std::string_view kValidateGreeting("\x00\xCE\xF7\x85\x3C", 5);

enum class Field : uint8_t { kNone, kKey, kValue, kExpected, kNumber, kNonce, kKeys, kPairs };

struct Shape {
  Op op;
  std::string_view name;
  std::array<Field, 3> fields;
};

// The one table of requests; the index is the current op code.
constexpr std::array<Shape, 20> kShapes = {{
    {Op::kValidate, "VALIDATE", {}},
    {Op::kSet, "SET", {Field::kKey, Field::kValue}},
    {Op::kCompareSet, "COMPARE_SET", {Field::kKey, Field::kExpected, Field::kValue}},
    {Op::kGet, "GET", {Field::kKey}},
    {Op::kAdd, "ADD", {Field::kKey, Field::kNumber}},
    {Op::kCheck, "CHECK", {Field::kKeys}},
    {Op::kWait, "WAIT", {Field::kKeys}},
    {Op::kGetNumKeys, "GETNUMKEYS", {}},
    {Op::kDeleteKey, "DELETE_KEY", {Field::kKey}},
    {Op::kAppend, "APPEND", {Field::kKey, Field::kValue}},
    {Op::kMultiGet, "MULTI_GET", {Field::kKeys}},
    {Op::kMultiSet, "MULTI_SET", {Field::kPairs}},
    {Op::kCancelWait, "CANCEL_WAIT", {}},
    {Op::kPing, "PING", {Field::kNonce}},
    {Op::kQueuePush, "QUEUE_PUSH", {Field::kKey, Field::kValue}},
    {Op::kQueuePop, "QUEUE_POP", {Field::kKey}},
    {Op::kQueueLength, "QUEUE_LEN", {Field::kKey}},
    {Op::kListKeys, "LIST_KEYS", {}},
    {Op::kBarrier, "BARRIER", {Field::kKey, Field::kNumber}},
    {Op::kWatchKey, "WATCH_KEY", {Field::kKey}},
}};

// The legacy numbering; the index is the legacy op code.
constexpr std::array<Op, 9> kLegacyOps = {Op::kSet,        Op::kCompareSet, Op::kGet,
                                          Op::kAdd,        Op::kCheck,      Op::kWait,
                                          Op::kGetNumKeys, Op::kWatchKey,   Op::kDeleteKey};

uint64_t load_u64(const char* from) {
  uint64_t value = 0;
  std::memcpy(&value, from, sizeof value);
  return value;
}

const Shape* find_shape(Dialect dialect, uint8_t code) {
  if (dialect == Dialect::kLegacy) {
    return code < kLegacyOps.size() ? &kShapes[static_cast<size_t>(kLegacyOps[code])] : nullptr;
  }
  const bool served = code >= 1 && code <= static_cast<uint8_t>(Op::kBarrier);
  return served ? &kShapes[code] : nullptr;
}

// Walks through one request. A read that cannot be done returns nothing and leaves why in
// `failure()`.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  [[nodiscard]] size_t offset() const { return at_; }
  [[nodiscard]] const Decoded& failure() const { return failure_; }
  void skip_to(size_t offset) { at_ = offset; }

  std::optional<std::string_view> raw(size_t length) {
    if (bytes_.size() - at_ < length) return need(at_ + length);
    const auto found = bytes_.substr(at_, length);
    at_ += length;
    return found;
  }

  std::optional<uint64_t> u64() {
    const auto found = raw(kLengthBytes);
    if (!found) return std::nullopt;
    return load_u64(found->data());
  }

  // The length is judged before the bytes are there, so that nobody buffers for a length we refuse.
  std::optional<std::string_view> string(const char* what, uint64_t limit) {
    const auto length = u64();
    if (!length) return std::nullopt;
    if (*length > limit) return refuse({what, *length, limit});
    if (at_ + *length > kMaxRequestBytes) {
      return refuse({"request bytes", at_ + *length, kMaxRequestBytes});
    }
    return raw(*length);
  }

  std::nullopt_t refuse(Malformed why) {
    failure_ = why;
    return std::nullopt;
  }

 private:
  std::nullopt_t need(size_t wanted_bytes) {
    failure_ = NeedMore{wanted_bytes, 0, 0};
    return std::nullopt;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  Decoded failure_;
};

std::optional<std::string_view> read_key(Cursor& cursor) {
  return cursor.string("key bytes", kMaxKeyBytes);
}

std::optional<std::string_view> read_value(Cursor& cursor) {
  return cursor.string("value bytes", kMaxValueBytes);
}

// A list is the only field of its request, so that "where we were" is one offset and one count.
Decoded decode_list(const Shape& shape, std::string_view bytes, NeedMore resume) {
  const bool pairs = shape.fields[0] == Field::kPairs;
  Cursor cursor(bytes);
  cursor.skip_to(1);
  const auto count = cursor.u64();
  if (!count) return cursor.failure();
  if (*count > kMaxListedKeys) return Malformed{"listed keys", *count, kMaxListedKeys};
  const size_t strings = static_cast<size_t>(*count) * (pairs ? 2 : 1);
  const size_t first = cursor.offset();
  if (resume.scanned_bytes > first) cursor.skip_to(resume.scanned_bytes);
  for (size_t i = resume.scanned_strings; i < strings; ++i) {
    const size_t start = cursor.offset();
    const bool is_value = pairs && i % 2 == 1;
    if (is_value ? read_value(cursor) : read_key(cursor)) continue;
    const auto* more = std::get_if<NeedMore>(&cursor.failure());
    if (more == nullptr) return cursor.failure();
    return NeedMore{more->wanted_bytes, start, i};
  }
  Command command;
  command.op = shape.op;
  command.encoded_bytes = cursor.offset();
  command.strings = EncodedStrings(strings, bytes.substr(first, cursor.offset() - first));
  return command;
}

bool read_field(Cursor& cursor, Field field, Command& command) {
  const auto store = [](const std::optional<std::string_view>& from, std::string_view& to) {
    if (from) to = *from;
    return from.has_value();
  };
  switch (field) {
    case Field::kKey:
      return store(read_key(cursor), command.key);
    case Field::kValue:
      return store(read_value(cursor), command.value);
    case Field::kExpected:
      return store(read_value(cursor), command.expected);
    case Field::kNumber: {
      const auto number = cursor.u64();
      if (number) command.number = static_cast<int64_t>(*number);
      return number.has_value();
    }
    case Field::kNonce: {
      const auto raw = cursor.raw(sizeof(uint32_t));
      uint32_t nonce = 0;
      if (raw) std::memcpy(&nonce, raw->data(), sizeof nonce);
      command.number = nonce;
      return raw.has_value();
    }
    case Field::kNone:
    case Field::kKeys:
    case Field::kPairs:
      return true;
  }
  return true;
}

}  // namespace

std::string_view to_string(Op op) { return kShapes[static_cast<size_t>(op)].name; }

std::string_view EncodedStrings::Iterator::operator*() const {
  return rest_.substr(kLengthBytes, load_u64(rest_.data()));
}

EncodedStrings::Iterator& EncodedStrings::Iterator::operator++() {
  rest_.remove_prefix(kLengthBytes + load_u64(rest_.data()));
  return *this;
}

std::string Malformed::describe() const {
  const std::string subject = std::string(what) + " " + std::to_string(value);
  return limit == 0 ? subject + " is unknown"
                    : subject + " over the limit of " + std::to_string(limit);
}

Decoded decode(Dialect dialect, std::string_view bytes, NeedMore resume) {
  if (bytes.size() < resume.wanted_bytes) return resume;
  const auto code = static_cast<uint8_t>(bytes[0]);
  const Shape* shape = find_shape(dialect, code);
  if (shape == nullptr) return Malformed{"op code", code, 0};
  if (shape->fields[0] == Field::kKeys || shape->fields[0] == Field::kPairs) {
    return decode_list(*shape, bytes, resume);
  }
  Cursor cursor(bytes);
  cursor.skip_to(1);
  Command command;
  command.op = shape->op;
  for (const Field field : shape->fields) {
    if (field == Field::kNone) break;
    if (!read_field(cursor, field, command)) return cursor.failure();
  }
  command.encoded_bytes = cursor.offset();
  return command;
}

std::variant<Greeting, NeedMore, Malformed> detect_dialect(std::string_view bytes) {
  if (bytes.empty()) return NeedMore{};
  const auto code = static_cast<uint8_t>(bytes[0]);
  if (code >= kLegacyOps.size()) return Malformed{"first byte", code, 0};
  if (code != 0) return Greeting{Dialect::kLegacy, 0};
  if (bytes.size() < kValidateGreeting.size()) return NeedMore{kValidateGreeting.size(), 0, 0};
  if (bytes.starts_with(kValidateGreeting)) {
    return Greeting{Dialect::kCurrent, kValidateGreeting.size()};
  }
  uint32_t low_half = 0;
  std::memcpy(&low_half, bytes.data() + 1, sizeof low_half);
  if (low_half > kMaxKeyBytes) return Malformed{"validation magic", low_half, 0};
  return Greeting{Dialect::kLegacy, 0};
}

}  // namespace muster::rendezvous
