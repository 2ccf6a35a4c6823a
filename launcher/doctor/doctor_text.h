// DoctorText: findings for people and for programs. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/doctor/peers_report.h"
#include "nccl/plan/finding.h"

namespace muster::launcher {

/// A block for each finding, and a line that counts them. `machine`: its title.
[[nodiscard]] std::string doctor_text(const std::vector<nccl::Finding>& findings,
                                      const std::string& machine);
/// {"findings": [{"id", "severity", "what", "remedy"}]} in one line; with a report of peers also
/// its "nodes": [name] and "pairs":
/// [{"nodes": [i, k], "latency_us", "bytes_per_s"}], or "failure" in place of the figures. A
/// pair that was measured over a provider has "provider" and "provider_latency_us" and
/// "provider_bytes_per_s", or "provider_failure".
[[nodiscard]] std::string doctor_json(const std::vector<nccl::Finding>& findings,
                                      const std::optional<PeersReport>& peers = {});

[[nodiscard]] bool has_errors(const std::vector<nccl::Finding>& findings);

}  // namespace muster::launcher
