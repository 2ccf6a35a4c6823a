#include "launcher/command_line/unread_variables.h"

#include <algorithm>
#include <string_view>

#include "launcher/command_line/variables.h"
#include "launcher/options/flag_search.h"
#include "launcher/options/flag_table.h"
#include "launcher/options/service_variables.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kPrefix = "MUSTER_";

// Behind the prefix.
std::vector<std::string> names_of_users() {
  std::vector<std::string> names;
  for (const VariableRow& row : variable_table()) {
    if (row.set_by == kSetByUser && row.name.starts_with(kPrefix))
      names.emplace_back(row.name.substr(kPrefix.size()));
  }
  for (const FlagRow& row : flag_table()) {
    const std::string name = muster_variable(row);
    if (!name.empty()) names.push_back(name.substr(kPrefix.size()));
  }
  return names;
}

// What Muster sets for what it starts: an agent below another one finds it.
bool is_own(std::string_view name) {
  return std::ranges::find(variable_table(), name, &VariableRow::name) != variable_table().end();
}

// "" = nothing like it is known. A name that was left off before its end is near enough.
std::string_view meant_by(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kShortest = 6;
  const auto begun = [name](const std::string& other) { return other.starts_with(name); };
  if (name.size() >= kShortest && std::ranges::count_if(known, begun) == 1)
    return *std::ranges::find_if(known, begun);
  return nearest_name(name, known);
}

}  // namespace

std::vector<std::string> unread_variables(const Environment& environment) {
  std::vector<std::string> lines;
  if (!environment.has_any(kPrefix)) return lines;
  const std::vector<std::string> known = names_of_users();
  const auto& variables = environment.variables();
  for (auto each = variables.lower_bound(kPrefix);
       each != variables.end() && each->first.starts_with(kPrefix); ++each) {
    const std::string& variable = each->first;
    const std::string_view name = std::string_view(variable).substr(kPrefix.size());
    if (std::ranges::find(known, name) != known.end() || is_own(variable) ||
        is_of_service(variable, environment))
      continue;
    std::string& line = lines.emplace_back(variable + " is set, and nothing reads it");
    if (const std::string_view meant = meant_by(name, known); !meant.empty())
      line += ", did you mean " + std::string(kPrefix) + std::string(meant) + "?";
  }
  return lines;
}

}  // namespace muster::launcher
