// A pod of a manifest as one of the form: the container that trains comes first and its command is
// Muster's. For form_of_manifest.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launcher/manifest/field.h"
#include "launcher/manifest/workload.h"

namespace muster::launcher {

/// Where the PodTemplateSpec of `replica` stands; "" = there is none, and its path is that of what
/// a TrainJob says of its nodes.
[[nodiscard]] std::string pod_path(const Replica& replica);

/// The template of `replica`, whose containers' command is still their own. kUsage: a field is
/// not what Kubernetes takes it for (pod_shape.h).
Result<nlohmann::json> read_pod_template(const Field& document, const Replica& replica);

/// Its command and arguments become those of Muster. $NUM_NODES is `nodes` then; $MASTER_ADDR and
/// $MASTER_PORT are variables of Kubernetes, but for a shell, which finds them in its environment.
/// A remark, if its words must be the image's business; "" = none.
[[nodiscard]] std::string put_muster_first(nlohmann::json& container, std::string_view nodes);

/// It waits for an mpirun of other pods, with a sshd.
[[nodiscard]] bool only_serves(const nlohmann::json& container);
/// It gets the words of the launcher, as Muster wants it, and no sshd is asked for its health.
void serve_by_muster(nlohmann::json& container, const nlohmann::json& launcher);

/// Prometheus finds the metrics of Muster's status port, which is the container's port `metrics`.
void publish_metrics(nlohmann::json& pod);

}  // namespace muster::launcher
