// Checks of RDMA devices: granted or not, up or not, as fast as their peers, with addresses, with a
// driver in the image. What the plan finds itself (fabric_plan.h) is not looked at again. Pure.
#pragma once

#include "nccl/checks/check.h"

namespace muster::nccl {

/// Some devices were given to this container and too few for its GPUs.
[[nodiscard]] Verdicts check_no_uverbs(const CheckQuestion& question);
[[nodiscard]] Verdicts check_rdma_cm_missing(const CheckQuestion& question);
/// An error only for ports that the job would use if they were up.
[[nodiscard]] Verdicts check_port_state(const CheckQuestion& question);
/// Among devices of one model.
[[nodiscard]] Verdicts check_port_rate(const CheckQuestion& question);
[[nodiscard]] Verdicts check_hca_count(const CheckQuestion& question);
/// Some devices have no address and the others are too few for the GPUs.
[[nodiscard]] Verdicts check_gid_missing(const CheckQuestion& question);
[[nodiscard]] Verdicts check_pkey(const CheckQuestion& question);
/// Between the interfaces of the devices that the job uses.
[[nodiscard]] Verdicts check_mtu_mismatch(const CheckQuestion& question);
[[nodiscard]] Verdicts check_lib_missing(const CheckQuestion& question);

}  // namespace muster::nccl
