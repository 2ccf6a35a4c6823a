#include "mpi/launch/rank_agent.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster::mpi {

namespace {

constexpr std::string_view kReason = "how each rank ends is seen, whoever calls mpirun";
constexpr const char* kIntelVariable = "I_MPI_GTOOL";

// A command, split at spaces.
struct AgentRow {
  const char* variable;
  std::string_view parameter;  // the same behind --mca and the like
  std::string_view source;
};
constexpr std::array kOpenMpiAgents = {
    AgentRow{"OMPI_MCA_orte_fork_agent", "orte_fork_agent", "tried: Open MPI 4.1.4"},
    AgentRow{"PRTE_MCA_odls_base_exec_agent", "odls_base_exec_agent", "tried: Open MPI 5.0.11"},
};

// Without their dashes: they name a program that Open MPI alone finds, start it below another one,
// read tools from a file, or start none.
constexpr std::array<std::string_view, 10> kWithoutAgent = {
    "path", "xterm", "gtoolfile", "do-not-launch", "version", "V", "help", "h", "info", "tv"};

// Intel MPI: "TOOL:RANKS=MODE; TOOL:RANKS", and of several for a rank the first counts.
std::string before_tools(const std::string& agent, std::string_view tools) {
  std::string text;
  for (const std::string_view tool : split(tools, ';')) {
    const std::string_view trimmed = trim(tool);
    if (trimmed.empty()) continue;
    // One that attaches itself gets a process id and no program.
    const bool attaches = trimmed.find("=attach") != std::string_view::npos;
    text += (attaches ? "" : agent + " ") + std::string(trimmed) + ";";
  }
  return text + agent + ":all";
}

}  // namespace

bool has_rank_agent(Implementation implementation) {
  return implementation != Implementation::kMpich;
}

std::vector<PlannedVariable> rank_agent_settings(const std::string& agent,
                                                 const Environment& user) {
  std::vector<PlannedVariable> settings;
  const auto add = [&settings](const char* name, std::string value, std::string_view source) {
    settings.push_back({.name = name,
                        .value = std::move(value),
                        .reason = std::string(kReason),
                        .source = std::string(source),
                        .claim = Claim::kOverrides});
  };
  for (const AgentRow& row : kOpenMpiAgents) {
    const std::string theirs(user.get(row.variable).value_or(""));
    add(row.variable, agent + (theirs.empty() ? "" : " " + theirs), row.source);
  }
  add(kIntelVariable, before_tools(agent, user.get(kIntelVariable).value_or("")),
      "tried: Intel MPI 2021.18");
  return settings;
}

void put_rank_agent(const std::string& agent, size_t options, std::vector<std::string>& words) {
  for (size_t i = 1; i + 1 < std::min(options, words.size()); ++i) {
    const bool is_tool = words[i] == "-gtool" || words[i] == "--gtool";
    const bool is_agent = std::ranges::any_of(
        kOpenMpiAgents, [&](const AgentRow& row) { return words[i] == row.parameter; });
    if (is_tool) words[i + 1] = before_tools(agent, words[i + 1]);
    if (is_agent) words[i + 1].insert(0, agent + " ");
  }
}

std::string_view word_without_agent(size_t options, const std::vector<std::string>& words) {
  for (size_t i = 1; i < std::min(options, words.size()); ++i) {
    const std::string_view word = words[i];
    const size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    if (dashes != 0 && std::ranges::find(kWithoutAgent, word.substr(dashes)) != kWithoutAgent.end())
      return word;
  }
  return "";
}

}  // namespace muster::mpi
