#include "launcher/output/prefix_template.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster::launcher {

namespace {

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || is_digit(byte) ||
         byte == '_';
}

std::optional<std::string> value_of(std::string_view name, const WorkerLabel& worker) {
  if (name == "rank") return std::to_string(worker.rank);
  if (name == "local_rank") return std::to_string(worker.local_rank);
  if (name == "role_name") return worker.role_name;
  if (name == "hostname" || name == "node") return worker.node;
  return std::nullopt;
}

// The macro at the start of a text that begins with '$'.
struct Macro {
  size_t size = 1;  // bytes of the text it takes up
  std::string_view name;
};

Macro macro_at(std::string_view text) {
  const bool braced = text.size() > 1 && text[1] == '{';
  const size_t start = braced ? 2 : 1;
  size_t end = start;
  while (end < text.size() && is_name_byte(text[end])) ++end;
  const std::string_view name = text.substr(start, end - start);
  if (!braced) return {end, name};
  if (end == text.size() || text[end] != '}') return {};
  return {end + 1, name};
}

// "$5" and "$-" are meant as they are.
bool means_a_name(std::string_view macro) {
  return macro.size() > 1 && (macro[1] == '{' || (is_name_byte(macro[1]) && !is_digit(macro[1])));
}

}  // namespace

std::string expand_prefix(std::string_view text, const WorkerLabel& worker) {
  std::string expanded;
  while (!text.empty()) {
    if (text.starts_with("$$")) {
      expanded += '$';
      text.remove_prefix(2);
      continue;
    }
    const Macro macro = text.front() == '$' ? macro_at(text) : Macro{};
    const std::optional<std::string> value = value_of(macro.name, worker);
    expanded += value ? *value : text.substr(0, macro.size);
    text.remove_prefix(macro.size);
  }
  return std::string(clip_utf8(expanded, kMaxPrefixBytes));
}

std::string_view unknown_macro(std::string_view text) {
  while (!text.empty()) {
    if (text.front() != '$' || text.starts_with("$$")) {
      text.remove_prefix(text.front() == '$' ? 2 : 1);
      continue;
    }
    const Macro macro = macro_at(text);
    const bool named = !macro.name.empty();
    if (means_a_name(text) && !value_of(macro.name, {}))
      return text.substr(0, named ? macro.size : std::min(text.size(), text.find('}')) + 1);
    text.remove_prefix(macro.size);
  }
  return {};
}

}  // namespace muster::launcher
