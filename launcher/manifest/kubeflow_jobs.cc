#include "launcher/manifest/kubeflow_jobs.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/manifest/pod_template.h"

namespace muster::launcher {

namespace {

constexpr int kMaxRestarts = 1'000'000;

// Of those replicas that are there, in this order: {"Master", "Worker"}.
Status read_replicas(const Field& specs, std::initializer_list<std::string_view> types,
                     Workload& workload) {
  workload.nodes_path = specs.path();
  for (const std::string_view type : types) {
    const auto pods = specs[type]["replicas"].number(0, kMaxPods);
    if (!pods) return Error(pods.error());
    if (!specs[type].is_there() || *pods == 0) continue;
    auto replica = read_pod(specs[type]["template"], to_lower(type), pods->value_or(1));
    if (!replica) return std::move(replica).error();
    workload.replicas.push_back(*std::move(replica));
  }
  if (!workload.replicas.empty()) return {};
  return Error{Code::kUsage, 0, specs.path() + ": there must be a Worker"};
}

}  // namespace

Status read_pytorch_job(const Field& document, Workload& workload) {
  const Field spec = document["spec"];
  const Field specs = spec["pytorchReplicaSpecs"];
  MUSTER_RETURN_IF_ERROR(read_replicas(specs, {"Master", "Worker"}, workload));
  const Field elastic = spec["elasticPolicy"];
  const auto least = elastic["minReplicas"].number(1, kMaxPods);
  const auto most = elastic["maxReplicas"].number(1, kMaxPods);
  const auto restarts = elastic["maxRestarts"].number(0, kMaxRestarts);
  for (const auto* number : {&least, &most, &restarts})
    if (!*number) return Error(number->error());
  if (least->has_value() != most->has_value())
    return (*least ? elastic["maxReplicas"] : elastic["minReplicas"]).wrong("a number of pods");
  if (*least && *most) {
    if (**least > **most) return elastic["minReplicas"].wrong("at most maxReplicas");
    workload.values.push_back(
        {flag::kNnodes, std::to_string(**least) + ":" + std::to_string(**most), elastic.path()});
  }
  if (*restarts)
    workload.values.push_back(
        {flag::kMaxRestarts, std::to_string(**restarts), elastic["maxRestarts"].path()});
  const Field worker = specs[specs["Worker"].is_there() ? "Worker" : "Master"];
  return add_pods_workers(workload, spec["nprocPerNode"], worker["template"]);
}

Status read_mpi_job(const Field& document, Workload& workload) {
  const Field spec = document["spec"];
  const Field specs = spec["mpiReplicaSpecs"];
  if (!specs["Launcher"].is_there()) return specs["Launcher"].wrong("the pod that starts mpirun");
  MUSTER_RETURN_IF_ERROR(read_replicas(specs, {"Launcher", "Worker"}, workload));
  const auto has_ranks = spec["runLauncherAsWorker"].boolean();
  if (!has_ranks) return Error(has_ranks.error());
  workload.launcher_has_ranks = has_ranks->value_or(false);
  workload.values.push_back({flag::kFramework, "mpi", "kind"});
  MUSTER_RETURN_IF_ERROR(add_mpi(workload, spec["mpiImplementation"]));
  const auto slots = spec["slotsPerWorker"].number(1, kMaxPods);
  if (!slots) return Error(slots.error());
  workload.values.push_back(
      {flag::kNprocPerNode, std::to_string(slots->value_or(1)), spec["slotsPerWorker"].path()});
  return {};
}

Status read_train_job(const Field& document, Workload& workload) {
  const Field trainer = document["spec"]["trainer"];
  const auto nodes = trainer["numNodes"].number(1, kMaxPods);
  if (!nodes) return Error(nodes.error());
  auto replica = read_container(trainer, "node", nodes->value_or(1));
  if (!replica) return std::move(replica).error();
  workload.replicas.push_back(*std::move(replica));
  workload.nodes_path = trainer["numNodes"].path();
  return add_worker_count(workload, trainer["numProcPerNode"], trainer["resourcesPerNode"]);
}

}  // namespace muster::launcher
