#include "launcher/manifest/yaml_reader.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

std::string place(const YAML::Mark& mark) {
  return "line " + std::to_string(mark.line + 1) + ", column " + std::to_string(mark.column + 1);
}

/// Where documents begin.
class DocumentStarts final : public YAML::EventHandler {
 public:
  [[nodiscard]] const YAML::Mark& last() const { return last_; }

  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark last_ = YAML::Mark::null_mark();
};

/// Of one stream; bounded in what it makes.
class Converter {
 public:
  Result<json> convert(const YAML::Node& node, int depth);

 private:
  Result<json> convert_map(const YAML::Node& node, int depth);
  size_t nodes_ = 0;
};

// yaml-cpp's tag of what was written without quotes.
bool is_plain(const YAML::Node& node) { return node.Tag() == "?"; }

// 0400 and 0o400 are octal, as the modes of files are written; 0x1ed.
std::optional<int64_t> of_other_base(std::string_view text) {
  constexpr int kOctal = 8;
  constexpr int kHexadecimal = 16;
  if (text.size() < 2 || text.front() != '0') return std::nullopt;
  const bool is_hexadecimal = text[1] == 'x' || text[1] == 'X';
  const std::string_view digits = text.substr(is_hexadecimal || text[1] == 'o' ? 2 : 1);
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                              is_hexadecimal ? kHexadecimal : kOctal);
  const bool is_whole = problem == std::errc() && end == digits.data() + digits.size();
  const bool is_signed = digits.starts_with('-');
  return is_whole && !is_signed ? std::optional(value) : std::nullopt;
}

// As Kubernetes reads it: YAML 1.1.
json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (!is_plain(node)) return text;
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL")
    return nullptr;
  const std::string word = to_lower(text);
  for (const std::string_view yes : {"true", "yes", "on", "y"})
    if (word == yes) return true;
  for (const std::string_view no : {"false", "no", "off", "n"})
    if (word == no) return false;
  if (const auto integer = of_other_base(text)) return *integer;
  if (const auto integer = parse_integer(text)) return *integer;
  if (const auto number = parse_number(text)) return *number;
  return text;
}

size_t replacements_in(std::string_view text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  size_t count = 0;
  for (size_t at = text.find(kReplacement); at != text.npos; at = text.find(kReplacement, at + 1))
    ++count;
  return count;
}

// Each byte that is none would be replaced.
bool is_utf8(std::string_view text) {
  return replacements_in(printable_utf8(text)) == replacements_in(text);
}

// What YAML does not allow in its text. Source: YAML 1.2, 5.1; go-yaml refuses them as well.
bool is_control(char letter) {
  constexpr char kDelete = 0x7f;
  return (letter >= 0 && letter < ' ' && letter != '\t' && letter != '\n' && letter != '\r') ||
         letter == kDelete;
}

Status check_text(const std::string& text) {
  if (text.size() > kMaxYamlBytes) return Error{Code::kLimit, 0, "more than 1 MiB"};
  const auto control = std::ranges::find_if(text, is_control);
  if (control != text.end()) {
    const auto lines = std::count(text.begin(), control, '\n') + 1;
    return Error{Code::kUsage, 0,
                 "line " + std::to_string(lines) + ": a control character is not allowed"};
  }
  if (!is_utf8(text)) return Error{Code::kUsage, 0, "it is not UTF-8"};
  return {};
}

Result<json> Converter::convert(const YAML::Node& node, int depth) {
  if (++nodes_ > kMaxYamlNodes || depth > kMaxJsonDepth)
    return Error{Code::kLimit, 0, place(node.Mark()) + ": there is too much in it"};
  if (node.IsMap()) return convert_map(node, depth);
  if (node.IsScalar()) return scalar(node);
  if (!node.IsSequence()) return json();
  json list = json::array();
  for (const YAML::Node& child : node) {
    auto item = convert(child, depth + 1);
    if (!item) return item;
    list.push_back(*std::move(item));
  }
  return list;
}

// What `<<` names stands below the keys of the map itself. Source: yaml.org/type/merge.html.
void merge(json& map, const json& other) {
  if (other.is_array())
    for (const json& item : other) merge(map, item);
  if (!other.is_object()) return;
  for (const auto& [key, value] : other.items())
    if (!map.contains(key)) map[key] = value;
}

Result<json> Converter::convert_map(const YAML::Node& node, int depth) {
  json map = json::object();
  json merged;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar())
      return Error{Code::kUsage, 0, place(entry.first.Mark()) + ": a key must be a word"};
    const std::string& key = entry.first.Scalar();
    if (map.contains(key))
      return Error{Code::kUsage, 0, place(entry.first.Mark()) + ": '" + key + "' is there twice"};
    auto value = convert(entry.second, depth + 1);
    if (!value) return value;
    (key == "<<" ? merged : map[key]) = *std::move(value);
  }
  merge(map, merged);
  return map;
}

// yaml-cpp finds documents for ever at a word that begins none, as a ','.
Status check_documents(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  for (int last = -1; parser.HandleNextDocument(starts); last = starts.last().pos) {
    if (starts.last().pos == last)
      return Error{Code::kUsage, 0, place(starts.last()) + ": no document can begin so"};
  }
  return {};
}

}  // namespace

Result<std::vector<json>> read_yaml(const std::string& text) {
  MUSTER_RETURN_IF_ERROR(check_text(text));
  std::vector<json> documents;
  try {
    MUSTER_RETURN_IF_ERROR(check_documents(text));
    Converter converter;
    for (const YAML::Node& node : YAML::LoadAll(text)) {
      auto document = converter.convert(node, 0);
      if (!document) return std::move(document).error();
      if (!document->is_null()) documents.push_back(*std::move(document));
    }
  } catch (const YAML::DeepRecursion& exception) {
    return Error{Code::kLimit, 0, place(exception.mark) + ": lists and maps are too deep"};
  } catch (const YAML::Exception& exception) {
    return Error{Code::kUsage, 0, place(exception.mark) + ": " + exception.msg};
  }
  return documents;
}

}  // namespace muster::launcher
