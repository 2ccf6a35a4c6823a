#include "mpi/launch/remote_shell.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::mpi {

namespace {

// Open MPI 4.1 (orte/mca/plm/rsh) and PRRTE 3.0 (src/mca/plm/ssh): the name and its synonyms.
constexpr std::array<std::string_view, 5> kParameters = {
    "plm_rsh_agent", "plm_ssh_agent", "orte_rsh_agent", "pls_rsh_agent", "plm_base_rsh_agent"};
// Hydra 4.0 and 5.0, ui/mpich/utils.c; Intel MPI has the latter.
constexpr std::array<std::string_view, 2> kOptions = {"launcher-exec", "bootstrap-exec"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "--mca", "-gmca", "--prtemca"; without the dashes.
std::string_view option_of(std::string_view word) {
  if (!word.starts_with('-')) return "";
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word;
}

constexpr std::array<std::string_view, 4> kVariables = {
    "OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "HYDRA_LAUNCHER_EXEC",
    "I_MPI_HYDRA_BOOTSTRAP_EXEC"};

// Of a parameter in the environment: the settings know one name of each version's.
bool is_synonym(std::string_view variable) {
  for (const std::string_view prefix : {"OMPI_MCA_", "PRTE_MCA_"}) {
    if (variable.starts_with(prefix) && is_one_of(kParameters, variable.substr(prefix.size())))
      return true;
  }
  return false;
}

bool plans(const std::vector<PlannedVariable>& settings, std::string_view name) {
  return std::ranges::find(settings, name, &PlannedVariable::name) != settings.end();
}

// The value as a user of `setting` would write it, with what takes its place.
void replace(std::vector<ShellSetting>& found, std::string name, std::string& value,
             const std::string& ours) {
  if (value == ours) return;
  const bool replaced = names_ssh(value);
  found.push_back({std::move(name), value, replaced});
  if (replaced) value = ours;
}

}  // namespace

bool names_ssh(std::string_view shell) {
  const std::string_view first = shell.substr(0, shell.find_first_of(" \t:"));
  const std::string_view name = base_name(first);
  return name == "ssh" || name == "rsh";
}

std::vector<ShellSetting> replace_shell_settings(std::vector<PlannedVariable>& settings,
                                                 const Environment& user) {
  std::vector<ShellSetting> found;
  for (PlannedVariable& setting : settings) {
    const auto given = user.get(setting.name);
    if (!is_one_of(kVariables, setting.name) || !setting.value || !given || given->empty())
      continue;
    std::string value(*given);
    const size_t before = found.size();
    replace(found, setting.name, value, *setting.value);
    if (found.size() > before && found.back().replaced) setting.claim = Claim::kOverrides;
  }
  for (const auto& [name, given] : user.variables()) {
    if (!is_synonym(name) || !names_ssh(given) || plans(settings, name)) continue;
    found.push_back({name, given, true});
    settings.push_back({name, std::nullopt, "another name of the remote shell", "Open MPI 4.1.4"});
  }
  return found;
}

std::vector<ShellSetting> replace_shell_words(std::vector<std::string>& words,
                                              const std::string& rsh_program,
                                              const std::string& rsh_words) {
  const std::string& open_mpis = rsh_words.empty() ? rsh_program : rsh_words;
  std::vector<ShellSetting> found;
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view option = option_of(words[i]);
    const size_t sign = option.find('=');
    if (sign != std::string_view::npos && is_one_of(kOptions, option.substr(0, sign))) {
      const size_t at = words[i].find('=') + 1;
      std::string value = words[i].substr(at);
      replace(found, words[i].substr(0, at - 1), value, rsh_program);
      words[i].replace(at, std::string::npos, value);
    } else if (is_one_of(kOptions, option) && i + 1 < words.size()) {
      replace(found, words[i], words[i + 1], rsh_program);
    } else if (option.ends_with("mca") && i + 2 < words.size() &&
               is_one_of(kParameters, words[i + 1])) {
      replace(found, words[i] + " " + words[i + 1], words[i + 2], open_mpis);
    }
  }
  return found;
}

}  // namespace muster::mpi
