// PlannedVariable: one decision about one variable of a worker's environment, with its reason.
// Every framework's plan is a list of these; `muster env --explain` and the log print them.
#pragma once

#include <string>

namespace muster::launcher {

enum class PlanAction {
  kSet,     ///< the worker gets `value`
  kKeep,    ///< the user had set it to `value`, and that stands
  kRemove,  ///< the worker does not get it; `value` is empty, for it may be a secret
};

struct PlannedVariable {
  std::string name;
  PlanAction action = PlanAction::kSet;
  std::string value;
  std::string reason;  ///< one clause: "set by the user", "rank of an outer Open MPI launch"
};

}  // namespace muster::launcher
