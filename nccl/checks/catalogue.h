// Catalogue: the checks of a node, one row each. `muster doctor`, its documentation and the tests
// are made from it. Checks between nodes are not in it (nccl/pairs).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nccl/checks/check.h"
#include "nccl/plan/finding.h"

namespace muster::nccl {

struct CheckRow {
  std::string_view id;              ///< "memlock"
  std::string_view subject;         ///< what is wrong, in one clause, for people
  std::string_view looks_at;        ///< files, variables
  Severity most = Severity::kInfo;  ///< the gravest that it may say
  /// Null: the fabric plan finds it (fabric_plan.h, setting_rules.h).
  Verdicts (*run)(const CheckQuestion&) = nullptr;
  /// The plan takes care of it and goes on, so to it that is a warning; here it is told as what it
  /// is for a job of several nodes.
  bool is_raised = false;
  bool is_of_settings = false;  ///< of what the user says or the image has, not of the machine
};

/// In the order of docs/fabric-checks.md.
[[nodiscard]] std::span<const CheckRow> check_catalogue();

/// Whether that check is about what the user says or the image has, which may be alike on every
/// node of a job.
[[nodiscard]] bool is_of_settings(std::string_view id);

/// All of them, with what the plan found: the gravest first, otherwise in the order of the
/// catalogue. Pure.
[[nodiscard]] std::vector<Finding> check_node(const CheckQuestion& question);

}  // namespace muster::nccl
