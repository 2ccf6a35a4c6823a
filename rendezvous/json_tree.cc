#include "rendezvous/json_tree.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/json.h"

namespace muster::rendezvous {

namespace {

constexpr size_t kUsualValues = 48;  // of a message of an agent

bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

bool is_of_number(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

// None: not whole, negative, or too large for it.
std::optional<uint64_t> unsigned_number(std::string_view token) {
  if (token.size() > 1 && token.front() == '0') return std::nullopt;
  uint64_t number = 0;
  const char* end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, number);
  if (stop != end || error != std::errc()) return std::nullopt;
  return number;
}

JsonNode from_library(const nlohmann::json& value) {
  if (value.is_number_unsigned())
    return {.kind = JsonKind::kUnsigned, .number = static_cast<int64_t>(value.get<uint64_t>())};
  if (value.is_number_integer())
    return {.kind = JsonKind::kInteger, .number = value.get<int64_t>()};
  return {.kind = JsonKind::kFloat};
}

}  // namespace

// Goes through the text once. Every method takes what it is named after and returns false when that
// does not stand there.
class JsonTree::Scanner {
 public:
  Scanner(JsonTree& tree, std::string_view text) : tree_(tree), text_(text) {
    tree_.nodes_.reserve(kUsualValues);
  }
  bool document() {
    if (!value({}, 0)) return false;
    skip_space();
    return at_ == text_.size();
  }
  /// Which limit was exceeded; "" = none.
  [[nodiscard]] const std::string& excess() const { return excess_; }

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view key, std::string_view wanted, JsonNode node) {
    if (!text_.substr(at_).starts_with(wanted)) return false;
    at_ += wanted.size();
    return add(key, node);
  }
  bool add(std::string_view key, JsonNode node) {
    if (tree_.nodes_.size() == kMaxJsonValues)
      return refuse("JSON of more than " + std::to_string(kMaxJsonValues) + " values");
    node.key = key;
    node.end = tree_.nodes_.size() + 1;
    tree_.nodes_.push_back(node);
    return true;
  }
  bool refuse(std::string excess) {
    excess_ = std::move(excess);
    return false;
  }

  bool value(std::string_view key, int depth) {
    skip_space();
    if (at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{':
      case '[':
        return inside(key, depth + 1);
      case '"': {
        const auto found = string();
        return found && add(key, {.kind = JsonKind::kText, .text = *found});
      }
      case 't':
        return word(key, "true", {.kind = JsonKind::kBoolean, .flag = true});
      case 'f':
        return word(key, "false", {.kind = JsonKind::kBoolean});
      case 'n':
        return word(key, "null", {});
      default:
        return number(key);
    }
  }

  bool inside(std::string_view key, int depth) {
    if (depth > kMaxJsonDepth)
      return refuse("JSON nested deeper than " + std::to_string(kMaxJsonDepth));
    const bool named = text_[at_++] == '{';
    const char closing = named ? '}' : ']';
    const size_t index = tree_.nodes_.size();
    if (!add(key, {.kind = named ? JsonKind::kObject : JsonKind::kArray})) return false;
    for (bool first = true; !take(closing); first = false) {
      if (!first && !take(',')) return false;
      if (!(named ? member(depth) : value({}, depth))) return false;
    }
    tree_.nodes_[index].end = tree_.nodes_.size();
    return true;
  }

  bool member(int depth) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != '"') return false;
    const auto name = string();
    return name && take(':') && value(*name, depth);
  }

  // At its first quote.
  std::optional<std::string_view> string() {
    size_t end = at_ + 1;
    while (end < text_.size() && is_plain(text_[end])) ++end;
    if (end < text_.size() && text_[end] == '"') {
      const std::string_view plain = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return plain;
    }
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) return std::nullopt;
    const auto library = parse_json(text_.substr(at_, end + 1 - at_));
    if (!library || !library->is_string()) return std::nullopt;
    at_ = end + 1;
    return tree_.unescaped_.emplace_back(library->get_ref<const std::string&>());
  }

  bool number(std::string_view key) {
    const size_t begin = at_;
    while (at_ < text_.size() && is_of_number(text_[at_])) ++at_;
    const std::string_view token = text_.substr(begin, at_ - begin);
    if (token.empty()) return false;
    if (const auto plain = unsigned_number(token))
      return add(key, {.kind = JsonKind::kUnsigned, .number = static_cast<int64_t>(*plain)});
    const auto library = parse_json(token);
    return library && library->is_number() && add(key, from_library(*library));
  }

  JsonTree& tree_;
  const std::string_view text_;
  size_t at_ = 0;
  std::string excess_;
};

Result<JsonTree> JsonTree::parse(std::string_view text, size_t limit_bytes) {
  if (text.size() > limit_bytes) {
    return Error{Code::kLimit, 0,
                 "JSON of " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(limit_bytes)};
  }
  JsonTree tree;
  Scanner scanner(tree, text);
  const bool valid = scanner.document();
  if (!scanner.excess().empty()) return Error{Code::kLimit, 0, scanner.excess()};
  if (!valid) return Error{Code::kProtocol, 0, "not valid JSON"};
  return tree;
}

const JsonNode* JsonTree::find(const JsonNode& object, std::string_view key) const {
  if (object.kind != JsonKind::kObject) return nullptr;
  for (const JsonNode* each = first(object); each != nullptr; each = next(object, *each)) {
    if (each->key == key) return each;
  }
  return nullptr;
}

const JsonNode* JsonTree::first(const JsonNode& around) const {
  const size_t inside = index_of(around) + 1;
  return inside < around.end ? &nodes_[inside] : nullptr;
}

const JsonNode* JsonTree::next(const JsonNode& around, const JsonNode& node) const {
  return node.end < around.end ? &nodes_[node.end] : nullptr;
}

}  // namespace muster::rendezvous
