#include "base/environment.h"

#include <cstring>

namespace muster {

Environment Environment::from_environ(const char* const* environ) {
  Environment environment;
  for (; environ != nullptr && *environ != nullptr; ++environ) {
    if (const auto entry = split_entry(*environ))
      environment.variables_.emplace(entry->first, entry->second);
  }
  return environment;
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

bool Environment::has_any(std::string_view prefix) const {
  const auto first = variables_.lower_bound(prefix);
  return first != variables_.end() && first->first.starts_with(prefix);
}

void Environment::set(std::string_view name, std::string_view value) {
  variables_.insert_or_assign(std::string(name), std::string(value));
}

void Environment::set_entry(std::string_view entry) {
  if (const auto variable = split_entry(entry)) set(variable->first, variable->second);
}

void Environment::unset(std::string_view name) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) variables_.erase(found);
}

std::vector<std::string> Environment::to_exec_strings() const {
  std::vector<std::string> strings;
  strings.reserve(variables_.size());
  for (const auto& [name, value] : variables_) {
    std::string& entry = strings.emplace_back();
    entry.reserve(name.size() + 1 + value.size());
    entry.append(name).append(1, '=').append(value);
  }
  return strings;
}

std::optional<std::pair<std::string_view, std::string_view>> split_entry(std::string_view entry) {
  const size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return std::pair(entry.substr(0, equals), entry.substr(equals + 1));
}

std::string_view search_path(const Environment& environment) {
  return environment.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
}

}  // namespace muster
