// Checks of the ordinary network: interfaces, the own name, ports, what intercepts connections.
// Pure.
#pragma once

#include "nccl/checks/check.h"

namespace muster::nccl {

inline constexpr int kLeastPorts = 1024;  ///< ephemeral; a rank of a large job has hundreds
inline constexpr int kFewPorts = 8192;    ///< Linux has 28,232

/// What NCCL would take if Muster did not tell it; settings of the user are the plan's to judge.
[[nodiscard]] Verdicts check_ifname_wrong(const CheckQuestion& question);
[[nodiscard]] Verdicts check_iface_down(const CheckQuestion& question);
/// By the probe; a name that means loopback is the plan's to find.
[[nodiscard]] Verdicts check_dns_self(const CheckQuestion& question);
[[nodiscard]] Verdicts check_ports(const CheckQuestion& question);
[[nodiscard]] Verdicts check_conntrack(const CheckQuestion& question);
[[nodiscard]] Verdicts check_service_mesh(const CheckQuestion& question);

}  // namespace muster::nccl
