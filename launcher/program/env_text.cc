#include "launcher/program/env_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "base/text.h"

namespace muster::launcher {

namespace {

using Action = VariableDecision::Action;

constexpr std::string_view kLater = "(decided at the start)";

std::string_view to_string(Confidence confidence) {
  switch (confidence) {
    case Confidence::kCertain:
      return "certain";
    case Confidence::kAssumed:
      return "assumed";
    case Confidence::kAtStart:
      return "at start";
  }
  return "?";
}

std::string title(const ShownProcess& process) {
  if (process.local_rank < 0) return "# " + process.name + "\n";
  return "# " + process.name + " of local rank " + std::to_string(process.local_rank) + "\n";
}

std::string value_of(const ShownVariable& variable) {
  if (variable.confidence == Confidence::kAtStart) return std::string(kLater);
  return quote_if_needed(variable.decision.value);
}

std::string assignment(const ShownVariable& variable) {
  const VariableDecision& decision = variable.decision;
  if (decision.action == Action::kUnset) return "unset " + decision.name;
  return decision.name + "=" + value_of(variable);
}

// A shell takes everything between single quotes as it is, but for these quotes.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string note_lines(const ShownEnvironments& shown) {
  std::string text;
  for (const std::string& note : shown.notes) text += "# " + note + "\n";
  return text;
}

nlohmann::json json_of(const ShownVariable& variable) {
  const VariableDecision& decision = variable.decision;
  nlohmann::json json = {{"name", decision.name},
                         {"value", decision.value},
                         {"action", muster::to_string(decision.action)},
                         {"layer", muster::to_string(decision.layer)},
                         {"reason", decision.reason},
                         {"source", decision.source},
                         {"confidence", to_string(variable.confidence)}};
  const bool known = variable.confidence != Confidence::kAtStart;
  if (!known || decision.action == Action::kUnset) json["value"] = nullptr;
  return json;
}

nlohmann::json json_of(const ShownProcess& process) {
  nlohmann::json json = {{"process", process.name}, {"variables", nlohmann::json::array()}};
  if (process.local_rank >= 0) json["local_rank"] = process.local_rank;
  for (const ShownVariable& variable : process.variables)
    json["variables"].push_back(json_of(variable));
  return json;
}

}  // namespace

std::string env_text(const ShownEnvironments& shown) {
  std::string text;
  for (const ShownProcess& process : shown.processes) {
    if (shown.processes.size() > 1) text += title(process);
    for (const ShownVariable& variable : process.variables) {
      if (variable.decision.action != Action::kKeep) text += assignment(variable) + "\n";
    }
  }
  return text;
}

std::string env_explained(const ShownEnvironments& shown) {
  std::string text;
  for (const ShownProcess& process : shown.processes) {
    if (shown.processes.size() > 1) text += title(process);
    size_t widest = 0;
    for (const ShownVariable& variable : process.variables)
      widest = std::max(widest, assignment(variable).size());
    widest = std::min(widest, size_t{48});
    for (const ShownVariable& variable : process.variables) {
      const VariableDecision& decision = variable.decision;
      std::string line = assignment(variable);
      line.resize(std::max(line.size(), widest), ' ');
      text += line + "  " + std::string(muster::to_string(decision.layer)) + ": " +
              decision.reason + " (" + decision.source + ")";
      if (variable.confidence == Confidence::kAssumed) text += ", assumed";
      text += "\n";
    }
  }
  return text + note_lines(shown);
}

std::string env_json(const ShownEnvironments& shown, bool all) {
  nlohmann::json json = nlohmann::json::object();
  if (all) {
    json["processes"] = nlohmann::json::array();
    for (const ShownProcess& process : shown.processes)
      json["processes"].push_back(json_of(process));
  } else if (!shown.processes.empty()) {
    json = json_of(shown.processes.front());
  } else {
    json["variables"] = nlohmann::json::array();
  }
  json["notes"] = nlohmann::json::array();
  for (const std::string& note : shown.notes)
    json["notes"].push_back({{"severity", "info"}, {"text", note}});
  return dump_json(json) + "\n";
}

std::string env_export(const ShownEnvironments& shown) {
  if (shown.processes.empty()) return note_lines(shown);
  std::string text;
  for (const ShownVariable& variable : shown.processes.front().variables) {
    const VariableDecision& decision = variable.decision;
    if (variable.confidence == Confidence::kAtStart) {
      text += "# " + decision.name + " is decided at the start\n";
    } else if (decision.action == Action::kUnset) {
      text += "unset " + decision.name + "\n";
    } else if (decision.action == Action::kSet) {
      text += "export " + decision.name + "=" + shell_quoted(decision.value) + "\n";
    }
  }
  return text;
}

}  // namespace muster::launcher
