// JsonCursor: goes through one JSON text once, from value to value. Where a leader reads some
// messages of each of thousands of agents, any tree of their values costs more than all that is
// decided upon them. What is not plain (escapes, other than ASCII, numbers with a sign or a point)
// is the library's all the same. For message_json.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::rendezvous {

enum class JsonKind : uint8_t {
  kNone,  ///< no value begins here
  kNull,
  kBoolean,
  kNumber,
  kText,
  kArray,
  kObject,
};

struct JsonNumber {
  std::optional<uint64_t> magnitude;  ///< none = not whole, or beyond 64 bits
  bool negative = false;
  /// None: negative.
  [[nodiscard]] std::optional<uint64_t> as_unsigned() const;
  /// None: does not fit.
  [[nodiscard]] std::optional<int64_t> as_signed() const;
};

/// Stands before a value, or behind the last one. After an error there is nothing more: kind() is
/// kNone, lists and objects end. Copies nothing; reading all of a text is O(n), at most
/// kMaxJsonDepth deep.
class JsonCursor {
 public:
  /// `text` is borrowed for the life of the cursor and of what it gives out.
  explicit JsonCursor(std::string_view text) : text_(text) {}

  /// Of the value that comes next.
  [[nodiscard]] JsonKind kind();

  // The value that comes next and is of that kind; each goes on behind it.
  /// Valid until the next text or key that has escapes.
  std::string_view text();
  JsonNumber number();
  bool boolean();
  /// Any value, with all that is inside.
  void skip();
  /// Into the list or object, before its first value or key.
  void enter();

  /// In an object: to the value of its next member, whose key this is (valid as a text). None = it
  /// ended, and the cursor stands behind it.
  std::optional<std::string_view> next_key();
  /// In a list: to its next value. False = it ended, and the cursor stands behind it.
  bool next_value();

  /// Behind everything: whether the text was one JSON value. kLimit: nested deeper than
  /// base/json.h allows. kProtocol: not JSON.
  [[nodiscard]] Status finish();

 private:
  void skip_space();
  bool take(char wanted);
  bool take_word(std::string_view wanted);
  bool goes_on(char closing);
  std::string_view escaped(size_t begin);
  void fail(Code code, std::string text);

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
  bool first_ = false;  // nothing of the innermost list or object was read yet
  std::string unescaped_;
  std::optional<Error> error_;
};

}  // namespace muster::rendezvous
