#include "rendezvous/wire/message_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/wire/agent_fields.h"
#include "rendezvous/wire/control_protocol.h"
#include "rendezvous/wire/control_writer.h"
#include "rendezvous/wire/json_cursor.h"
#include "rendezvous/wire/leader_fields.h"

namespace muster::rendezvous {

namespace {

// The other visitor of the fields is in control_writer.h. Members may come in any order; those of
// our own messages come in that of their fields, so that one pass over these reads them all.
class Reader {
 public:
  explicit Reader(JsonCursor& cursor) : cursor_(cursor) {}

  /// The object that comes next. Of two members of one name the first counts.
  template <typename T>
  void read(T& value) {
    cursor_.enter();
    next();
    while (key_) {
      const uint64_t before = seen_;
      visit(value);
      if (seen_ != before) continue;
      cursor_.skip();
      next();
    }
    ended_ = true;
    visit(value);
  }
  void text(std::string_view key, std::string& value, size_t limit) {
    if (!take(key, JsonKind::kText, "not a string")) return;
    const std::string_view found = cursor_.text();
    if (found.size() > limit) {
      fail(fmt::format("longer than {} bytes", limit), key);
    } else {
      value = clip_utf8(one_line(found), limit);
    }
    next();
  }
  /// The same of many lines.
  void lines(std::string_view key, std::string& value, size_t limit) {
    if (!take(key, JsonKind::kText, "not a string")) return;
    const std::string_view found = cursor_.text();
    if (found.size() > limit) {
      fail(fmt::format("longer than {} bytes", limit), key);
    } else {
      value = clip_utf8(printable_utf8(found), limit);
    }
    next();
  }
  /// A whole JSON text, which whoever asked for it may print.
  void document(std::string_view key, std::string& value, size_t limit) {
    if (!take(key, JsonKind::kText, "not a string")) return;
    auto rewritten = printable_json(cursor_.text(), limit);
    if (rewritten) {
      value = *std::move(rewritten);
    } else {
      fail(rewritten.error().text, key);
    }
    next();
  }
  void bytes(std::string_view key, std::string& value, size_t limit) {
    if (!take(key, JsonKind::kText, "not a string")) return;
    auto decoded = from_base64(cursor_.text());
    if (!decoded) {
      fail("not base64", key);
    } else if (decoded->size() > limit) {
      fail(fmt::format("longer than {} bytes", limit), key);
    } else {
      value = std::move(*decoded);
    }
    next();
  }
  template <typename T>
  void number(std::string_view key, T& value, Range range) {
    if (!take(key, JsonKind::kNumber, "not a number")) return require(key);
    if (const auto checked = integer(key, range)) value = static_cast<T>(*checked);
    next();
  }
  void number(std::string_view key, uint64_t& value) {
    if (!take(key, JsonKind::kNumber, "not a number >= 0")) return require(key);
    unsigned_integer(key, value);
  }
  template <typename T>
  void number_or(std::string_view key, std::type_identity_t<T> /*usual*/, T& value, Range range) {
    if (!take(key, JsonKind::kNumber, "not a number")) return;
    if (const auto checked = integer(key, range)) value = static_cast<T>(*checked);
    next();
  }
  void number_or(std::string_view key, uint64_t /*usual*/, uint64_t& value) {
    if (take(key, JsonKind::kNumber, "not a number >= 0")) unsigned_integer(key, value);
  }
  template <typename T>
  void word(std::string_view key, T& value, T last) {
    auto number = static_cast<int>(value);
    this->number(key, number, {0, static_cast<int64_t>(last)});
    value = static_cast<T>(number);
  }
  void flag(std::string_view key, bool& value) {
    if (!take(key, JsonKind::kBoolean, "not true or false")) return;
    value = cursor_.boolean();
    next();
  }
  template <typename T>
  void flag(std::string_view key, T& value, T meaning) {
    bool set = false;
    flag(key, set);
    if (set) value = meaning;
  }
  void optional_number(std::string_view key, std::optional<int>& value, Range range) {
    if (!take(key, JsonKind::kNumber, "not a number")) return;
    if (const auto checked = integer(key, range)) value = static_cast<int>(*checked);
    next();
  }
  template <typename T>
  void object(std::string_view key, T& value) {
    if (!take(key, JsonKind::kObject, "not an object")) return require(key);
    inside(value);
    next();
  }
  template <typename T>
  void optional_object(std::string_view key, std::optional<T>& value) {
    if (!take(key, JsonKind::kObject, "not an object")) return;
    inside(value.emplace());
    next();
  }
  template <typename T>
  void list(std::string_view key, std::vector<T>& values, size_t limit) {
    elements(key, JsonKind::kObject, values.size(), limit,
             [this, &values] { inside(values.emplace_back()); });
  }
  template <typename T>
  void numbers(std::string_view key, std::vector<T>& values, size_t limit, Range range) {
    elements(key, JsonKind::kNumber, values.size(), limit, [this, key, &values, range] {
      if (const auto checked = integer(key, range)) values.push_back(static_cast<T>(*checked));
    });
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  void fail(std::string_view what, std::string_view key) {
    if (problem_.empty()) problem_ = fmt::format("{}: {}", key, what);
  }

 private:
  template <typename T>
  void visit(T& value) {
    field_ = 0;
    fields(*this, value);
  }
  template <typename T>
  void inside(T& value) {
    Reader reader(cursor_);
    reader.read(value);
    if (problem_.empty()) problem_ = reader.problem();
  }
  void next() { key_ = cursor_.next_key(); }

  // Whether the member that comes next is this one, and as it should be.
  bool take(std::string_view key, JsonKind kind, std::string_view otherwise) {
    const uint64_t bit = uint64_t{1} << field_++;
    if (!key_ || *key_ != key || (seen_ & bit) != 0) return false;
    seen_ |= bit;
    if (cursor_.kind() == kind) return true;
    fail(otherwise, key);
    cursor_.skip();
    next();
    return false;
  }
  void require(std::string_view key) {
    if (ended_ && (seen_ & uint64_t{1} << (field_ - 1)) == 0) fail("missing", key);
  }
  template <typename Read>
  void elements(std::string_view key, JsonKind kind, size_t entries, size_t limit, Read read) {
    if (!take(key, JsonKind::kArray, "not a list")) return;
    cursor_.enter();
    for (; cursor_.next_value(); ++entries) {
      const bool fits = entries < limit && cursor_.kind() == kind;
      if (fits) {
        read();
      } else {
        if (problem_.empty())
          fail(entries < limit ? "not a list of these" : fmt::format("more than {} entries", limit),
               key);
        cursor_.skip();
      }
    }
    next();
  }
  void unsigned_integer(std::string_view key, uint64_t& value) {
    if (const auto whole = cursor_.number().as_unsigned()) {
      value = *whole;
    } else {
      fail("not a number >= 0", key);
    }
    next();
  }
  std::optional<int64_t> integer(std::string_view key, Range range) {
    const auto whole = cursor_.number().as_signed();
    if (whole && *whole >= range.low && *whole <= range.high) return whole;
    fail(fmt::format("not a whole number in {}..{}", range.low, range.high), key);
    return std::nullopt;
  }

  JsonCursor& cursor_;
  std::optional<std::string_view> key_;  // of the member that comes next
  uint64_t seen_ = 0;                    // fields that came, by their place
  size_t field_ = 0;                     // the place of the one that is asked for
  bool ended_ = false;                   // the object: what did not come is missing
  std::string problem_;                  // the first one
};

}  // namespace

template <typename T>
void Writer::write(std::string& out, const T& value) {
  out += '{';
  Writer writer(out, true);
  fields(writer, value);
  out += '}';
}

namespace {

// By position in Message; the static_assert keeps the two in step.
constexpr std::array<std::string_view, 26> kNames = {
    "hello",        "join",         "heartbeat", "started", "succeeded", "failed",
    "stopped",      "leaving",      "goodbye",   "welcome", "refuse",    "ack",
    "waiting",      "assign",       "stop",      "notice",  "finish",    "handover",
    "status_reply", "contribution", "exchanged", "roster",  "decided",   "lone_failure",
    "may_restart",  "quit"};
static_assert(kNames.size() == std::variant_size_v<Message>);

// Both ends can say that they speak different versions, whatever else these have in common
// (CONTROL_PROTOCOL.md). What comes first was read.
bool is_of_another_version(const Hello& hello) { return hello.version != kControlVersion; }
bool is_of_another_version(const Refuse& refuse) { return refuse.code == RefuseCode::kVersion; }
template <typename T>
bool is_of_another_version(const T& /*others*/) {
  return false;
}

Status check_end(JsonCursor& cursor) {
  auto ended = cursor.finish();
  if (!ended) return std::move(ended).error().with_context("control message");
  return {};
}

template <size_t Index>
Result<Message> read_as(std::string_view text) {
  Result<Message> message{Message(std::in_place_index<Index>)};
  auto& body = std::get<Index>(*message);
  JsonCursor cursor(text);
  Reader reader(cursor);
  reader.read(body);
  MUSTER_RETURN_IF_ERROR(check_end(cursor));
  if (!reader.problem().empty() && !is_of_another_version(body)) {
    return Error{Code::kProtocol, 0,
                 fmt::format("control message '{}': {}", kNames[Index], reader.problem())};
  }
  return message;
}

template <size_t... Index>
Result<Message> read_message(size_t type, std::string_view text,
                             std::index_sequence<Index...> /*all*/) {
  using Read = Result<Message> (*)(std::string_view);
  constexpr std::array<Read, sizeof...(Index)> kReaders = {&read_as<Index>...};
  return kReaders[type](text);
}

// Its place in kNames. In what we write the type comes first.
Result<size_t> type_of(std::string_view text) {
  JsonCursor cursor(text);
  if (cursor.kind() == JsonKind::kObject) {
    cursor.enter();
    while (const auto key = cursor.next_key()) {
      if (*key != "type" || cursor.kind() != JsonKind::kText) {
        cursor.skip();
        continue;
      }
      const std::string_view name = cursor.text();
      const auto found = std::find(kNames.begin(), kNames.end(), name);
      if (found != kNames.end()) return static_cast<size_t>(found - kNames.begin());
      return Error{Code::kProtocol, 0,
                   fmt::format("control message of unknown type '{}'",
                               quote_if_needed(clip_utf8(name, 32)))};
    }
  } else {
    cursor.skip();
  }
  MUSTER_RETURN_IF_ERROR(check_end(cursor));
  return Error{Code::kProtocol, 0, "control message without a type"};
}

}  // namespace

std::string_view name_of(const Message& message) { return kNames[message.index()]; }

Result<Message> parse_message(std::string_view text) {
  auto type = type_of(text);
  if (!type) return std::move(type).error();
  return read_message(*type, text, std::make_index_sequence<kNames.size()>());
}

void append_message(std::string& out, const Message& message) {
  out.append(R"({"type":")").append(name_of(message)).append(1, '"');
  Writer writer(out, false);
  std::visit([&writer](const auto& body) { fields(writer, body); }, message);
  out += '}';
}

}  // namespace muster::rendezvous
