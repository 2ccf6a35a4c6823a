// The flat list is what the library's own tree is, and of no other texts.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/json.h"
#include "rendezvous/json_tree.h"

namespace {

using muster::rendezvous::JsonKind;
using muster::rendezvous::JsonNode;
using muster::rendezvous::JsonTree;
using nlohmann::json;

json scalar(const JsonNode& node) {
  if (node.kind == JsonKind::kBoolean) return node.flag;
  if (node.kind == JsonKind::kInteger) return node.number;
  if (node.kind == JsonKind::kUnsigned) return static_cast<uint64_t>(node.number);
  if (node.kind == JsonKind::kText) return std::string(node.text);
  return nullptr;
}

json rebuilt(const JsonTree& tree, const JsonNode& node, const json& library) {
  if (node.kind == JsonKind::kFloat) return library;  // its value is not kept
  if (node.kind != JsonKind::kArray && node.kind != JsonKind::kObject) return scalar(node);
  json whole = node.kind == JsonKind::kArray ? json::array() : json::object();
  for (const auto* each = tree.first(node); each != nullptr; each = tree.next(node, *each)) {
    const std::string key(each->key);
    const bool is_list = node.kind == JsonKind::kArray;
    const json& there = is_list ? library.at(whole.size()) : library.at(key);
    const json value = rebuilt(tree, *each, there);
    if (is_list) whole.push_back(value);
    // Of two members of one name the library keeps the last.
    if (!is_list) whole[key] = value;
  }
  return whole;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tree = JsonTree::parse(text, muster::kMaxJsonBytes);
  const auto library = muster::parse_json(text);
  // The library skips a byte order mark and takes a zero byte for the end; the list takes neither.
  const bool is_odd = text.starts_with("\xef\xbb\xbf") || text.find('\0') != std::string_view::npos;
  MUSTER_CHECK(is_odd || tree.has_value() == library.has_value());
  if (!tree || !library) return 0;
  // Not compared: a list or object that stands where a member of the same name replaced it.
  json whole;
  try {
    whole = rebuilt(*tree, tree->root(), *library);
  } catch (const json::exception&) {
    return 0;
  }
  MUSTER_CHECK(whole == *library);
  return 0;
}
