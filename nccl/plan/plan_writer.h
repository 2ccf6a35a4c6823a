// PlanWriter: collects the variables of a fabric plan. Whoever is asked first decides: the user,
// the site's profile, a recipe, the general rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nccl/plan/fabric_plan.h"

namespace muster::nccl {

class PlanWriter {
 public:
  /// Both are borrowed.
  PlanWriter(const FabricFacts& facts, FabricPlan& plan) : facts_(facts), plan_(plan) {}

  /// Wants `name` to have `value`. Nothing happens if somebody has decided before; a setting in a
  /// configuration file is written down as kept.
  void set(std::string_view name, std::string value, std::string reason, std::string_view source,
           Confidence confidence = Confidence::kCertain);
  /// The same for one that must stay out if the user has set `rival`.
  void set_unless(std::string_view rival, std::string_view name, std::string value,
                  std::string reason, std::string_view source, Confidence confidence);
  void find(std::string_view id, Severity severity, std::string what, std::string remedy = "");

  [[nodiscard]] const FabricFacts& facts() const { return facts_; }
  [[nodiscard]] const FabricPlan& plan() const { return plan_; }
  /// Whether a setting or the plan has it.
  [[nodiscard]] bool is_set(std::string_view name) const;

 private:
  [[nodiscard]] bool is_planned(std::string_view name) const;

  const FabricFacts& facts_;
  FabricPlan& plan_;
};

}  // namespace muster::nccl
