// Writer: one of the two visitors of the lists of fields in record_fields.h (the other reads),
// so that the two directions cannot drift apart. It writes text as it goes: a large round is a
// frame for every agent. Included by message_json.cc alone, which defines write().
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "rendezvous/record_fields.h"

namespace muster::rendezvous {

/// Appends what `fields` visits as "key":value, without what is empty. `out` is borrowed; `first`:
/// nothing stands before.
class Writer {
 public:
  Writer(std::string& out, bool first) : out_(out), first_(first) {}
  void text(const char* key, std::string& value, size_t limit) {
    if (!value.empty()) begin(key) += quote_json(clip_utf8(value, limit));
  }
  void bytes(const char* key, std::string& value, size_t limit) {
    MUSTER_CHECK(value.size() <= limit);  // cut bytes mean something else
    if (!value.empty()) begin(key) += quote_json(to_base64(value));
  }
  template <typename T>
  void number(const char* key, T& value, Range /*range*/) {
    begin(key) += fmt::format_int(value).c_str();
  }
  void number(const char* key, uint64_t& value) { number(key, value, {}); }
  void flag(const char* key, bool& value) {
    if (value) begin(key) += "true";
  }
  void optional_number(const char* key, std::optional<int>& value, Range range) {
    if (value) number(key, *value, range);
  }
  template <typename T>
  void object(const char* key, T& value) {
    write(begin(key), value);
  }
  template <typename T>
  void optional_object(const char* key, std::optional<T>& value) {
    if (value) object(key, *value);
  }
  template <typename T>
  void list(const char* key, std::vector<T>& values, size_t limit) {
    if (values.empty()) return;
    begin(key) += '[';
    for (size_t i = 0; i < std::min(values.size(), limit); ++i) {
      if (i > 0) out_ += ',';
      write(out_, values[i]);
    }
    out_ += ']';
  }
  template <typename T>
  void numbers(const char* key, std::vector<T>& values, size_t limit, Range /*range*/) {
    if (values.size() > limit) values.resize(limit);
    if (!values.empty()) begin(key) += fmt::format("[{}]", fmt::join(values, ","));
  }
  template <typename T>
  static void write(std::string& out, T& value);

 private:
  std::string& begin(const char* key) {
    out_ += std::exchange(first_, false) ? "\"" : ",\"";
    out_ += key;
    return out_ += "\":";
  }

  std::string& out_;
  bool first_;
};

}  // namespace muster::rendezvous
