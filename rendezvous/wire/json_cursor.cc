#include "rendezvous/wire/json_cursor.h"

#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace muster::rendezvous {

namespace {

// Of what stands between two quotes: what a text means as it is.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = ' '; c <= '~'; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();
bool is_plain(char c) { return kPlain[static_cast<unsigned char>(c)]; }

bool is_space(char c) { return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r'); }

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// Without a sign. None: not whole, or too large for it.
std::optional<uint64_t> whole_number(std::string_view digits) {
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (stop != end || error != std::errc()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<uint64_t> JsonNumber::as_unsigned() const {
  return negative ? std::nullopt : magnitude;
}

std::optional<int64_t> JsonNumber::as_signed() const {
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (!magnitude || *magnitude > kLargest + (negative ? 1 : 0)) return std::nullopt;
  return static_cast<int64_t>(negative ? -*magnitude : *magnitude);
}

JsonKind JsonCursor::kind() {
  skip_space();
  if (at_ >= text_.size()) return JsonKind::kNone;
  switch (text_[at_]) {
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    case '"':
      return JsonKind::kText;
    case 't':
    case 'f':
      return JsonKind::kBoolean;
    case 'n':
      return JsonKind::kNull;
    default:
      return is_of_number(text_[at_]) ? JsonKind::kNumber : JsonKind::kNone;
  }
}

std::string_view JsonCursor::text() {
  if (!take('"')) return {};
  const size_t begin = at_;
  while (at_ < text_.size() && is_plain(text_[at_])) ++at_;
  if (at_ < text_.size() && text_[at_] == '"') return text_.substr(begin, at_++ - begin);
  return escaped(begin - 1);
}

// With its quotes, from `begin` on.
std::string_view JsonCursor::escaped(size_t begin) {
  size_t end = begin + 1;
  while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
  if (end < text_.size()) {
    const auto library = parse_json(text_.substr(begin, end + 1 - begin));
    if (library && library->is_string()) {
      at_ = end + 1;
      return unescaped_ = library->get_ref<const std::string&>();
    }
  }
  fail(Code::kProtocol, "not valid JSON");
  return {};
}

JsonNumber JsonCursor::number() {
  skip_space();
  const size_t begin = at_;
  while (at_ < text_.size() && is_of_number(text_[at_])) ++at_;
  const std::string_view token = text_.substr(begin, at_ - begin);
  const bool negative = token.starts_with('-');
  if (const auto plain = whole_number(token.substr(negative ? 1 : 0))) return {plain, negative};
  const auto library = parse_json(token);
  if (!library || !library->is_number()) fail(Code::kProtocol, "not valid JSON");
  return {};  // a fraction, or beyond 64 bits
}

bool JsonCursor::boolean() {
  skip_space();
  if (take_word("true")) return true;
  if (!take_word("false")) fail(Code::kProtocol, "not valid JSON");
  return false;
}

void JsonCursor::skip() {
  switch (kind()) {
    case JsonKind::kObject:
      enter();
      while (next_key()) skip();
      return;
    case JsonKind::kArray:
      enter();
      while (next_value()) skip();
      return;
    case JsonKind::kText:
      (void)text();
      return;
    case JsonKind::kNumber:
      (void)number();
      return;
    case JsonKind::kBoolean:
      (void)boolean();
      return;
    case JsonKind::kNull:
      if (take_word("null")) return;
      break;
    case JsonKind::kNone:
      break;
  }
  fail(Code::kProtocol, "not valid JSON");
}

void JsonCursor::enter() {
  if (++depth_ > kMaxJsonDepth)
    return fail(Code::kLimit, "JSON nested deeper than " + std::to_string(kMaxJsonDepth));
  ++at_;  // its bracket
  first_ = true;
}

std::optional<std::string_view> JsonCursor::next_key() {
  if (!goes_on('}')) return std::nullopt;
  const std::string_view key = text();
  if (!take(':')) return std::nullopt;
  return key;
}

bool JsonCursor::next_value() { return goes_on(']'); }

Status JsonCursor::finish() {
  skip_space();
  if (at_ != text_.size()) fail(Code::kProtocol, "not valid JSON");
  if (error_) return *error_;
  return {};
}

void JsonCursor::skip_space() {
  while (at_ < text_.size() && is_space(text_[at_])) ++at_;
}

bool JsonCursor::take(char wanted) {
  skip_space();
  if (at_ < text_.size() && text_[at_] == wanted) {
    ++at_;
    return true;
  }
  fail(Code::kProtocol, "not valid JSON");
  return false;
}

bool JsonCursor::take_word(std::string_view wanted) {
  if (!text_.substr(at_).starts_with(wanted)) return false;
  at_ += wanted.size();
  return true;
}

// Past the comma before the next value or key, or past the closing bracket.
bool JsonCursor::goes_on(char closing) {
  skip_space();
  const bool first = std::exchange(first_, false);
  if (at_ < text_.size() && text_[at_] == closing) {
    ++at_;
    --depth_;
    return false;
  }
  return first ? !error_ : take(',');
}

void JsonCursor::fail(Code code, std::string text) {
  if (!error_) error_ = Error{code, 0, std::move(text)};
  at_ = text_.size();
}

}  // namespace muster::rendezvous
