// JsonTree: one JSON text as a flat list of its values in document order. Where a leader reads some
// messages of each of thousands of agents, a library's tree of maps costs more than all that is
// decided upon them. What is not plain (escapes, other than ASCII, numbers with a sign or a
// point) is the library's all the same. For message_json.cc alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::rendezvous {

/// Of one text; two lists of all nodes of the largest job have about 140,000.
inline constexpr size_t kMaxJsonValues = 200'000;

enum class JsonKind : uint8_t {
  kNull,
  kBoolean,
  kInteger,   ///< a negative one
  kUnsigned,  ///< `number` as uint64_t
  kFloat,
  kText,
  kArray,
  kObject,
};

/// One value. `key`: its name in the object around it, "" in lists. `end`: index behind its last
/// descendant. The views live as long as the tree and the text that was parsed.
struct JsonNode {
  JsonKind kind = JsonKind::kNull;
  bool flag = false;
  int64_t number = 0;
  std::string_view key = {};
  std::string_view text = {};
  size_t end = 0;
};

/// The list, [0] is the document. Never empty.
class JsonTree {
 public:
  /// `text` must outlive the tree. kLimit: longer than `limit_bytes`, more than kMaxJsonValues,
  /// nested deeper than base/json.h allows. kProtocol: not JSON.
  static Result<JsonTree> parse(std::string_view text, size_t limit_bytes);

  [[nodiscard]] const JsonNode& root() const { return nodes_.front(); }
  /// The value of that name; null = none, or `object` is not one. The first of two. O(members).
  [[nodiscard]] const JsonNode* find(const JsonNode& object, std::string_view key) const;
  /// The first value inside a list or object, and the one behind `node` in the same; null = none.
  [[nodiscard]] const JsonNode* first(const JsonNode& around) const;
  [[nodiscard]] const JsonNode* next(const JsonNode& around, const JsonNode& node) const;

 private:
  class Scanner;
  [[nodiscard]] size_t index_of(const JsonNode& node) const {
    return static_cast<size_t>(&node - nodes_.data());
  }
  std::vector<JsonNode> nodes_;
  std::deque<std::string> unescaped_;  // texts that do not stand so in the document
};

}  // namespace muster::rendezvous
