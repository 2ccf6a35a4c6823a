// LeaderWorkerSet (leaderworkerset.x-k8s.io/v1): a group of a leader's pod, which is rank 0, and
// workers' pods. Facts: LWS 0.10, pkg/utils/pod and pkg/webhooks/pod_webhook.go.
#pragma once

#include <optional>

#include "launcher/contracts/contract.h"

namespace muster::launcher {

/// None: one of the three variables is not there.
[[nodiscard]] std::optional<Contract> read_lws(const PodFacts& pod);

}  // namespace muster::launcher
