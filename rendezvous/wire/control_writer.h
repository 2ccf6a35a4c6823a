// Writer: one of the two visitors of the lists of fields in record_fields.h (the other reads),
// so that the two directions cannot drift apart. It writes text as it goes: a large round is a
// frame for every agent. Included by message_json.cc alone, which defines write().
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/wire/record_fields.h"

namespace muster::rendezvous {

/// Appends what `fields` visits as "key":value, without what is empty. `out` is borrowed; `first`:
/// nothing stands before. Texts and lists are cut to their limits.
class Writer {
 public:
  Writer(std::string& out, bool first) : out_(out), first_(first) {}
  void text(std::string_view key, const std::string& value, size_t limit) {
    if (!value.empty()) append_json(begin(key), clip_utf8(value, limit));
  }
  void lines(std::string_view key, const std::string& value, size_t limit) {
    text(key, value, limit);
  }
  void document(std::string_view key, const std::string& value, size_t limit) {
    text(key, value, limit);
  }
  void bytes(std::string_view key, const std::string& value, size_t limit) {
    MUSTER_CHECK(value.size() <= limit);  // cut bytes mean something else
    if (!value.empty()) append_json(begin(key), to_base64(value));
  }
  template <typename T>
  void number(std::string_view key, const T& value, Range /*range*/) {
    append_number(begin(key), value);
  }
  void number(std::string_view key, const uint64_t& value) { append_number(begin(key), value); }
  /// Left out when it is `usual`, the value that the field begins with.
  template <typename T>
  void number_or(std::string_view key, std::type_identity_t<T> usual, const T& value, Range range) {
    if (value != usual) number(key, value, range);
  }
  void number_or(std::string_view key, uint64_t usual, const uint64_t& value) {
    if (value != usual) number(key, value);
  }
  /// An enumeration as its number.
  template <typename T>
  void word(std::string_view key, const T& value, T /*last*/) {
    append_number(begin(key), static_cast<int>(value));
  }
  void flag(std::string_view key, const bool& value) {
    if (value) begin(key).append("true");
  }
  /// An enumeration as whether it is this.
  template <typename T>
  void flag(std::string_view key, const T& value, T meaning) {
    flag(key, value == meaning);
  }
  void optional_number(std::string_view key, const std::optional<int>& value, Range range) {
    if (value) number(key, *value, range);
  }
  template <typename T>
  void object(std::string_view key, const T& value) {
    write(begin(key), value);
  }
  template <typename T>
  void optional_object(std::string_view key, const std::optional<T>& value) {
    if (value) object(key, *value);
  }
  template <typename T>
  void list(std::string_view key, const std::vector<T>& values, size_t limit) {
    elements(key, values, limit, [this](const T& value) { write(out_, value); });
  }
  template <typename T>
  void numbers(std::string_view key, const std::vector<T>& values, size_t limit, Range /*range*/) {
    elements(key, values, limit, [this](const T& value) { append_number(out_, value); });
  }
  template <typename T>
  static void write(std::string& out, const T& value);

 private:
  std::string& begin(std::string_view key) {
    out_.append(std::exchange(first_, false) ? "\"" : ",\"").append(key);
    return out_.append("\":");
  }
  template <typename T>
  static void append_number(std::string& out, T value) {
    const fmt::format_int digits(value);
    out.append(digits.data(), digits.size());
  }
  template <typename T, typename Write>
  void elements(std::string_view key, const std::vector<T>& values, size_t limit, Write write) {
    if (values.empty()) return;
    begin(key) += '[';
    for (size_t i = 0; i < std::min(values.size(), limit); ++i) {
      if (i > 0) out_ += ',';
      write(values[i]);
    }
    out_ += ']';
  }

  std::string& out_;
  bool first_;
};

}  // namespace muster::rendezvous
