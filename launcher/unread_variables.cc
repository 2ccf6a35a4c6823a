#include "launcher/unread_variables.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "launcher/flag_search.h"
#include "launcher/flag_table.h"
#include "launcher/frameworks/launcher_files.h"
#include "launcher/frameworks/mpi_launcher.h"
#include "launcher/frameworks/mpi_ssh_verb.h"
#include "launcher/guardian.h"
#include "launcher/job_secret.h"
#include "launcher/rsh/rsh_environment.h"
#include "launcher/service_variables.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kPrefix = "MUSTER_";

// Of no flag: what Muster sets for what it starts. An agent below another one finds them.
constexpr std::string_view kOwn[] = {kAgentIdVariable,    kLauncherIdVariable, kRshAgentVariable,
                                     kRshRequestVariable, kHostfileVariable,   kHostListVariable,
                                     kDiscoveryVariable,  kRankReportVariable, kRankNodeVariable,
                                     kRankInputVariable,  kSshFolderVariable};

// Behind the prefix.
std::vector<std::string> names_of_users() {
  std::vector<std::string> names = {std::string(kJobSecretFileVariable.substr(kPrefix.size()))};
  for (const FlagRow& row : flag_table()) {
    const std::string name = muster_variable(row);
    if (!name.empty()) names.push_back(name.substr(kPrefix.size()));
  }
  return names;
}

bool is_of_no_user(std::string_view name, const Environment& environment) {
  return std::ranges::find(kOwn, name) != std::end(kOwn) || is_of_service(name, environment);
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
    if (std::ranges::find(known, name) != known.end() || is_of_no_user(variable, environment))
      continue;
    std::string& line = lines.emplace_back(variable + " is set, and nothing reads it");
    if (const std::string_view meant = meant_by(name, known); !meant.empty())
      line += ", did you mean " + std::string(kPrefix) + std::string(meant) + "?";
  }
  return lines;
}

}  // namespace muster::launcher
