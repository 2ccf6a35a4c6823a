#include "base/environment_plan.h"

#include <algorithm>
#include <map>

namespace muster {

namespace {

using Entry = std::pair<EnvironmentLayer, PlannedVariable>;

bool overrides(const PlannedVariable& variable) {
  return !variable.value || variable.claim == Claim::kOverrides;
}

// Of two for the same name: whether `later` counts more than `earlier`.
bool beats(const Entry& later, const Entry& earlier) {
  if (overrides(later.second) != overrides(earlier.second)) return overrides(later.second);
  return later.first >= earlier.first;
}

VariableDecision kept(const std::string& name, std::string_view value) {
  return {name,
          VariableDecision::Action::kKeep,
          std::string(value),
          EnvironmentLayer::kUser,
          "set by the user",
          "environment of the pod",
          Confidence::kCertain};
}

// None: nothing changes, and the user has not said no.
std::optional<VariableDecision> decide(const Entry& entry, const Environment& user) {
  using enum VariableDecision::Action;
  const auto& [layer, wanted] = entry;
  const auto own = user.get(wanted.name);
  if (!wanted.value) {
    if (!own) return std::nullopt;
    return VariableDecision{wanted.name,   kUnset,           "", layer, wanted.reason,
                            wanted.source, wanted.confidence};
  }
  if (!overrides(wanted)) {
    if (own) return *own == *wanted.value ? std::nullopt : std::optional(kept(wanted.name, *own));
    const auto rival = wanted.rival.empty() ? std::nullopt : user.get(wanted.rival);
    if (rival) return kept(wanted.rival, *rival);
  }
  return VariableDecision{wanted.name,   kSet,          *wanted.value,    layer,
                          wanted.reason, wanted.source, wanted.confidence};
}

}  // namespace

std::string_view to_string(EnvironmentLayer layer) {
  switch (layer) {
    case EnvironmentLayer::kDefault:
      return "default";
    case EnvironmentLayer::kFabric:
      return "fabric";
    case EnvironmentLayer::kMpi:
      return "mpi";
    case EnvironmentLayer::kFramework:
      return "framework";
    case EnvironmentLayer::kContract:
      return "contract";
    case EnvironmentLayer::kAgent:
      return "agent";
    case EnvironmentLayer::kUser:
      return "user";
  }
  return "?";
}

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

std::string_view to_string(VariableDecision::Action action) {
  switch (action) {
    case VariableDecision::Action::kSet:
      return "set";
    case VariableDecision::Action::kKeep:
      return "keep";
    case VariableDecision::Action::kUnset:
      return "unset";
  }
  return "?";
}

void EnvironmentPlan::add(EnvironmentLayer layer, PlannedVariable variable) {
  variables_.emplace_back(layer, std::move(variable));
}

void EnvironmentPlan::add(EnvironmentLayer layer, std::vector<PlannedVariable> variables) {
  for (PlannedVariable& variable : variables) add(layer, std::move(variable));
}

void EnvironmentPlan::add(const EnvironmentPlan& other) {
  variables_.insert(variables_.end(), other.variables_.begin(), other.variables_.end());
}

PlannedEnvironment EnvironmentPlan::merge(const Environment& user) const {
  std::map<std::string_view, const Entry*> winners;
  for (const Entry& entry : variables_) {
    const Entry*& winner = winners[entry.second.name];
    if (winner == nullptr || beats(entry, *winner)) winner = &entry;
  }
  PlannedEnvironment result{user, {}};
  for (const auto& [name, winner] : winners) {
    auto decision = decide(*winner, user);
    if (!decision) continue;
    if (decision->action == VariableDecision::Action::kSet)
      result.environment.set(name, decision->value);
    if (decision->action == VariableDecision::Action::kUnset) result.environment.unset(name);
    result.decisions.push_back(std::move(*decision));
  }
  // One rival may keep several out.
  std::stable_sort(result.decisions.begin(), result.decisions.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  const auto same = [](const auto& a, const auto& b) { return a.name == b.name; };
  result.decisions.erase(std::unique(result.decisions.begin(), result.decisions.end(), same),
                         result.decisions.end());
  return result;
}

std::vector<std::string> replaced_names(const std::vector<VariableDecision>& decisions,
                                        const Environment& user) {
  std::vector<std::string> names;
  for (const VariableDecision& decision : decisions) {
    const auto own = user.get(decision.name);
    const bool kept = decision.action == VariableDecision::Action::kKeep;
    // A list of places that got one more in front, PYTHONPATH for one, is still the user's.
    const bool in_front = own && decision.value.ends_with(":" + std::string(*own));
    if (own && !kept && !in_front && *own != decision.value) names.push_back(decision.name);
  }
  return names;
}

std::vector<std::string> kept_names(const std::vector<VariableDecision>& decisions) {
  std::vector<std::string> names;
  for (const VariableDecision& decision : decisions) {
    if (decision.action == VariableDecision::Action::kKeep) names.push_back(decision.name);
  }
  return names;
}

}  // namespace muster
