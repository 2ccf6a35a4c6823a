#include "launcher/manifest/yaml_writer.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/emittermanip.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kFirst[] = {"apiVersion", "kind", "metadata", "name"};

// Booleans and nulls of YAML 1.1, which Kubernetes' reader knows too.
constexpr std::string_view kWords[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};

// A key on the line of its value may have 1024 characters, and a byte becomes up to four of them.
constexpr size_t kLongKey = 250;

bool is_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}
bool is_plain(char letter) {
  return is_letter(letter) || (letter >= '0' && letter <= '9') ||
         std::string_view("_-./+=").find(letter) != std::string_view::npos;
}

// Nobody takes it for a number, a time, a boolean or a part of YAML itself.
bool may_be_plain(std::string_view text) {
  const bool begins_well = !text.empty() && (is_letter(text.front()) || text.front() == '/');
  return begins_well && std::ranges::all_of(text, is_plain) &&
         std::ranges::find(kWords, to_lower(text)) == std::end(kWords);
}

size_t place_of(std::string_view key) {
  return static_cast<size_t>(std::ranges::find(kFirst, key) - std::begin(kFirst));
}

std::vector<std::string> keys_of(const json& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map.items()) keys.push_back(key);
  std::ranges::stable_sort(keys, {}, place_of);
  return keys;
}

void emit_text(YAML::Emitter& out, const std::string& text) {
  if (may_be_plain(text))
    out << text;
  else
    out << YAML::DoubleQuoted << text;
}

void emit(YAML::Emitter& out, const json& value) {
  if (value.is_object() && !value.empty()) {
    out << YAML::BeginMap;
    for (const std::string& key : keys_of(value)) {
      if (key.size() > kLongKey) out << YAML::LongKey;
      out << YAML::Key;
      emit_text(out, key);
      out << YAML::Value;
      emit(out, value[key]);
    }
    out << YAML::EndMap;
  } else if (value.is_array() && !value.empty()) {
    out << YAML::BeginSeq;
    for (const json& item : value) emit(out, item);
    out << YAML::EndSeq;
  } else if (value.is_structured()) {
    out << YAML::Flow << (value.is_array() ? YAML::BeginSeq : YAML::BeginMap)
        << (value.is_array() ? YAML::EndSeq : YAML::EndMap);
  } else if (value.is_string()) {
    emit_text(out, value.get<std::string>());
  } else if (value.is_null()) {
    out << YAML::LowerNull << YAML::Null;
  } else {
    out << dump_json(value);  // numbers and booleans are the same in both
  }
}

}  // namespace

std::string write_yaml(std::span<const json> documents) {
  std::string text;
  for (const json& document : documents) {
    YAML::Emitter out;
    out.SetOutputCharset(YAML::EscapeNonAscii);
    emit(out, document);
    if (!text.empty()) text += "---\n";
    text += std::string(out.c_str()) + "\n";
  }
  return text;
}

}  // namespace muster::launcher
