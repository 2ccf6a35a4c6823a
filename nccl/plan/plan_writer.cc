#include "nccl/plan/plan_writer.h"

#include <algorithm>

namespace muster::nccl {

bool PlanWriter::is_planned(std::string_view name) const {
  return std::ranges::find(plan_.variables, name, &PlannedVariable::name) !=
             plan_.variables.end() ||
         std::ranges::find(plan_.kept, name, &VariableDecision::name) != plan_.kept.end();
}

bool PlanWriter::is_set(std::string_view name) const {
  return facts_.settings.has(name) || is_planned(name);
}

void PlanWriter::set(std::string_view name, std::string value, std::string reason,
                     std::string_view source, Confidence confidence) {
  if (is_planned(name)) return;
  const Setting* setting = facts_.settings.find(name);
  if (setting != nullptr && setting->is_in_file()) {
    plan_.kept.push_back({std::string(name), VariableDecision::Action::kKeep, setting->value,
                          EnvironmentLayer::kUser, "set by the user or the administrator",
                          setting->source, Confidence::kCertain});
    return;
  }
  plan_.variables.push_back({.name = std::string(name),
                             .value = std::move(value),
                             .reason = std::move(reason),
                             .source = std::string(source),
                             .confidence = confidence});
}

void PlanWriter::set_unless(std::string_view rival, std::string_view name, std::string value,
                            std::string reason, std::string_view source, Confidence confidence) {
  if (is_planned(name) || is_set(rival)) return;
  set(name, std::move(value), std::move(reason), source, confidence);
  if (is_planned(name) && !plan_.variables.empty() && plan_.variables.back().name == name)
    plan_.variables.back().rival = rival;
}

void PlanWriter::find(std::string_view id, Severity severity, std::string what,
                      std::string remedy) {
  plan_.findings.push_back({std::string(id), severity, std::move(what), std::move(remedy)});
}

}  // namespace muster::nccl
