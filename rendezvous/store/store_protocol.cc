#include "rendezvous/store/store_protocol.h"

#include <array>
#include <cstring>
#include <optional>

namespace muster::rendezvous {

namespace {

// Everything is in the byte order of the hosts, which PyTorch never converts; all supported hosts
// are little-endian.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

constexpr std::string_view kValidateGreeting("\x00\xCE\xF7\x85\x3C", 5);

// The fields of a request, which follow the op byte in this order. A list stands alone.
enum Field : uint8_t {
  kKey = 1,
  kExpected = 2,
  kValue = 4,
  kNumber = 8,  // i64
  kNonce = 16,  // u32
  kKeys = 32,
  kPairs = 64,
};

struct Shape {
  Op op;
  std::string_view name;
  unsigned fields;
  [[nodiscard]] bool has(Field field) const { return (fields & field) != 0; }
};

// The one table of requests; the index is the current op code.
constexpr std::array<Shape, 20> kShapes = {{
    {Op::kValidate, "VALIDATE", 0},
    {Op::kSet, "SET", kKey | kValue},
    {Op::kCompareSet, "COMPARE_SET", kKey | kExpected | kValue},
    {Op::kGet, "GET", kKey},
    {Op::kAdd, "ADD", kKey | kNumber},
    {Op::kCheck, "CHECK", kKeys},
    {Op::kWait, "WAIT", kKeys},
    {Op::kGetNumKeys, "GETNUMKEYS", 0},
    {Op::kDeleteKey, "DELETE_KEY", kKey},
    {Op::kAppend, "APPEND", kKey | kValue},
    {Op::kMultiGet, "MULTI_GET", kKeys},
    {Op::kMultiSet, "MULTI_SET", kPairs},
    {Op::kCancelWait, "CANCEL_WAIT", 0},
    {Op::kPing, "PING", kNonce},
    {Op::kQueuePush, "QUEUE_PUSH", kKey | kValue},
    {Op::kQueuePop, "QUEUE_POP", kKey},
    {Op::kQueueLength, "QUEUE_LEN", kKey},
    {Op::kListKeys, "LIST_KEYS", 0},
    {Op::kBarrier, "BARRIER", kKey | kNumber},
    {Op::kWatchKey, "WATCH_KEY", kKey},
}};

// The legacy numbering; the index is the legacy op code.
constexpr std::array<Op, 9> kLegacyOps = {Op::kSet,        Op::kCompareSet, Op::kGet,
                                          Op::kAdd,        Op::kCheck,      Op::kWait,
                                          Op::kGetNumKeys, Op::kWatchKey,   Op::kDeleteKey};

const Shape* find_shape(Dialect dialect, uint8_t code) {
  if (dialect == Dialect::kLegacy) {
    return code < kLegacyOps.size() ? &kShapes[static_cast<size_t>(kLegacyOps[code])] : nullptr;
  }
  const bool served = code >= 1 && code <= static_cast<uint8_t>(Op::kBarrier);
  return served ? &kShapes[code] : nullptr;
}

// Walks through one request. The first read that cannot be done makes all later ones return
// nothing; failure() then says why.
class Cursor {
 public:
  Cursor(std::string_view bytes, size_t offset) : bytes_(bytes), at_(offset) {}

  [[nodiscard]] size_t offset() const { return at_; }
  [[nodiscard]] bool failed() const { return wanted_bytes_ != 0; }
  [[nodiscard]] bool is_malformed() const { return malformed_.limit != 0; }
  [[nodiscard]] const Malformed& malformed() const { return malformed_; }
  [[nodiscard]] size_t wanted_bytes() const { return wanted_bytes_; }
  [[nodiscard]] Decoded failure() const {
    if (is_malformed()) return malformed_;
    return NeedMore{wanted_bytes_, 0, 0};
  }

  template <typename Integer>
  Integer integer() {
    Integer value = 0;
    if (!has(sizeof value)) return value;
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  // The length is judged before the bytes are there, so that nobody buffers for a length we refuse.
  std::string_view string(const char* what, uint64_t limit) {
    const auto length = integer<uint64_t>();
    if (failed()) return {};
    if (length > limit) return refuse({what, length, limit});
    if (at_ + length > kMaxRequestBytes) {
      return refuse({"request bytes", at_ + length, kMaxRequestBytes});
    }
    if (!has(length)) return {};
    const std::string_view found(bytes_.data() + at_, length);
    at_ += length;
    return found;
  }
  std::string_view key() { return string("key bytes", kMaxKeyBytes); }
  std::string_view value() { return string("value bytes", kMaxValueBytes); }

 private:
  bool has(size_t length) {
    if (bytes_.size() - at_ >= length && !failed()) return true;
    if (!failed()) wanted_bytes_ = at_ + length;
    return false;
  }
  std::string_view refuse(Malformed why) {
    malformed_ = why;
    wanted_bytes_ = SIZE_MAX;
    return {};
  }

  std::string_view bytes_;
  size_t at_ = 0;
  size_t wanted_bytes_ = 0;  // 0 = all reads so far were done
  Malformed malformed_;
};

// A list is the only field of its request, so that "where we were" is one offset and one count.
Decoded decode_list(const Shape& shape, std::string_view bytes, const NeedMore& resume) {
  const bool pairs = shape.has(kPairs);
  Cursor header(bytes, 1);
  const auto count = header.integer<uint64_t>();
  if (header.failed()) return header.failure();
  if (count > kMaxListedKeys) return Malformed{"listed keys", count, kMaxListedKeys};
  const size_t strings = static_cast<size_t>(count) * (pairs ? 2 : 1);
  const size_t first = header.offset();
  Cursor cursor(bytes, resume.scanned_strings > 0 ? resume.scanned_bytes : first);
  for (size_t i = resume.scanned_strings; i < strings; ++i) {
    const size_t start = cursor.offset();
    (void)(pairs && i % 2 == 1 ? cursor.value() : cursor.key());  // only the length matters here
    if (cursor.is_malformed()) return cursor.malformed();
    if (cursor.failed()) return NeedMore{cursor.wanted_bytes(), start, i};
  }
  Decoded decoded;
  auto& command = std::get<Command>(decoded);
  command.op = shape.op;
  command.encoded_bytes = cursor.offset();
  command.strings = EncodedStrings(strings, bytes.substr(first, cursor.offset() - first));
  return decoded;
}

// The hot path: the one object it returns is filled where the caller will read it.
Decoded decode_plain(const Shape& shape, std::string_view bytes) {
  Decoded decoded;
  auto& command = std::get<Command>(decoded);
  command.op = shape.op;
  Cursor cursor(bytes, 1);
  if (shape.has(kKey)) command.key = cursor.key();
  if (shape.has(kExpected)) command.expected = cursor.value();
  if (shape.has(kValue)) command.value = cursor.value();
  if (shape.has(kNumber)) command.number = cursor.integer<int64_t>();
  if (shape.has(kNonce)) command.number = cursor.integer<uint32_t>();
  command.encoded_bytes = cursor.offset();
  if (cursor.failed()) decoded = cursor.failure();
  return decoded;
}

}  // namespace

std::string_view to_string(Op op) { return kShapes[static_cast<size_t>(op)].name; }

std::string Malformed::describe() const {
  const std::string subject = std::string(what) + " " + std::to_string(value);
  return limit == 0 ? subject + " is unknown"
                    : subject + " over the limit of " + std::to_string(limit);
}

Decoded decode(Dialect dialect, std::string_view bytes, const NeedMore& resume) {
  if (bytes.size() < resume.wanted_bytes) return resume;
  const auto code = static_cast<uint8_t>(bytes[0]);
  const Shape* shape = find_shape(dialect, code);
  if (shape == nullptr) return Malformed{"op code", code, 0};
  const bool is_list = shape->has(kKeys) || shape->has(kPairs);
  return is_list ? decode_list(*shape, bytes, resume) : decode_plain(*shape, bytes);
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
