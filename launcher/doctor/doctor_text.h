// DoctorText: findings for people and for programs. Pure.
#pragma once

#include <string>
#include <vector>

#include "nccl/plan/finding.h"

namespace muster::launcher {

/// A block for each finding, and a line that counts them. `machine`: its title.
[[nodiscard]] std::string doctor_text(const std::vector<nccl::Finding>& findings,
                                      const std::string& machine);
/// {"findings": [{"id", "severity", "what", "remedy"}]} in one line.
[[nodiscard]] std::string doctor_json(const std::vector<nccl::Finding>& findings);

[[nodiscard]] bool has_errors(const std::vector<nccl::Finding>& findings);

}  // namespace muster::launcher
