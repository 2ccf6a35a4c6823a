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

std::string title(const ShownProcess& process) {
  if (process.local_rank < 0) return "# " + process.name + "\n";
  return "# " + process.name + " of local rank " + std::to_string(process.local_rank) + "\n";
}

std::string value_of(const VariableDecision& decision) {
  if (decision.confidence == Confidence::kAtStart) return std::string(kLater);
  return quote_if_needed(decision.value);
}

std::string assignment(const VariableDecision& decision) {
  if (decision.action == Action::kUnset) return "unset " + decision.name;
  return decision.name + "=" + value_of(decision);
}

// A shell takes everything between single quotes as it is, but for these quotes.
std::string shell_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::vector<nccl::Finding> notes_of(const ShownEnvironments& shown) {
  std::vector<nccl::Finding> notes;
  if (shown.fabric) notes = shown.fabric->findings;
  notes.insert(notes.end(), shown.notes.begin(), shown.notes.end());
  return notes;
}

std::string note_lines(const ShownEnvironments& shown) {
  std::string text;
  if (shown.fabric && shown.fabric->kind != nccl::FabricKind::kNone) {
    text += "# " + nccl::summary(*shown.fabric) + "\n";
    for (const nccl::DroppedDevice& device : shown.fabric->dropped)
      text += "# not " + device.name + ": " + device.reason + "\n";
  }
  for (const nccl::Finding& note : notes_of(shown)) {
    const bool info = note.severity == nccl::Severity::kInfo;
    text += "# " + (info ? "" : std::string(nccl::to_string(note.severity)) + ": ") +
            nccl::to_line(note) + "\n";
  }
  return text;
}

nlohmann::json json_of(const nccl::FabricPlan& plan) {
  nlohmann::json devices = nlohmann::json::array();
  for (const std::string& name : plan.devices) devices.push_back({{"name", name}, {"used", true}});
  for (const nccl::DroppedDevice& device : plan.dropped)
    devices.push_back({{"name", device.name}, {"used", false}, {"reason", device.reason}});
  return {{"title", plan.title},
          {"fabric", nccl::to_string(plan.kind)},
          {"control_interface", plan.control.name},
          {"control_reason", plan.control.reason},
          {"devices", std::move(devices)}};
}

nlohmann::json json_of(const VariableDecision& decision) {
  nlohmann::json json = {{"name", decision.name},
                         {"value", decision.value},
                         {"action", muster::to_string(decision.action)},
                         {"layer", muster::to_string(decision.layer)},
                         {"reason", decision.reason},
                         {"source", decision.source},
                         {"confidence", muster::to_string(decision.confidence)}};
  const bool known = decision.confidence != Confidence::kAtStart;
  if (!known || decision.action == Action::kUnset) json["value"] = nullptr;
  return json;
}

nlohmann::json json_of(const ShownProcess& process) {
  nlohmann::json json = {{"process", process.name}, {"variables", nlohmann::json::array()}};
  if (process.local_rank >= 0) json["local_rank"] = process.local_rank;
  for (const VariableDecision& decision : process.variables)
    json["variables"].push_back(json_of(decision));
  return json;
}

}  // namespace

std::string env_text(const ShownEnvironments& shown) {
  std::string text;
  for (const ShownProcess& process : shown.processes) {
    if (shown.processes.size() > 1) text += title(process);
    for (const VariableDecision& decision : process.variables) {
      if (decision.action != Action::kKeep) text += assignment(decision) + "\n";
    }
  }
  return text;
}

std::string env_explained(const ShownEnvironments& shown) {
  std::string text;
  for (const ShownProcess& process : shown.processes) {
    if (shown.processes.size() > 1) text += title(process);
    size_t widest = 0;
    for (const VariableDecision& decision : process.variables)
      widest = std::max(widest, assignment(decision).size());
    widest = std::min(widest, size_t{48});
    for (const VariableDecision& decision : process.variables) {
      std::string line = assignment(decision);
      line.resize(std::max(line.size(), widest), ' ');
      text += line + "  " + std::string(muster::to_string(decision.layer)) + ": " +
              decision.reason + " (" + decision.source + ")";
      if (decision.confidence == Confidence::kAssumed) text += ", assumed";
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
  if (shown.fabric) json["machine"] = json_of(*shown.fabric);
  json["notes"] = nlohmann::json::array();
  for (const nccl::Finding& note : notes_of(shown)) {
    json["notes"].push_back(
        {{"severity", nccl::to_string(note.severity)}, {"text", nccl::to_line(note)}});
    if (!note.id.empty()) json["notes"].back()["id"] = note.id;
  }
  return dump_json(json) + "\n";
}

std::string env_export(const ShownEnvironments& shown) {
  if (shown.processes.empty()) return note_lines(shown);
  std::string text;
  for (const VariableDecision& decision : shown.processes.front().variables) {
    if (decision.confidence == Confidence::kAtStart) {
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
