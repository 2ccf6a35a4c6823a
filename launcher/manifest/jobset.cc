#include "launcher/manifest/jobset.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "launcher/manifest/container_command.h"
#include "launcher/manifest/pod_template.h"

namespace muster::launcher {

namespace {

constexpr int kMaxRestarts = 1'000'000;
constexpr int kMaxSeconds = 86'400 * 7;

struct Sizes {
  std::optional<int> nodes;  // mlPolicy.numNodes
  std::optional<int> least;  // of elasticPolicy
  std::optional<int> most;
};

Result<Sizes> read_sizes(const Field& policy) {
  const Field elastic = policy["torch"]["elasticPolicy"];
  const auto nodes = policy["numNodes"].number(1, kMaxPods);
  const auto least = elastic["minNodes"].number(1, kMaxPods);
  const auto most = elastic["maxNodes"].number(1, kMaxPods);
  for (const auto* number : {&nodes, &least, &most})
    if (!*number) return Error(number->error());
  if (elastic.is_there() && !(*least && *most))
    return (*least ? elastic["maxNodes"] : elastic["minNodes"]).wrong("a number of nodes");
  if (*least && **least > **most)
    return elastic["minNodes"].wrong("at most maxNodes, which is " + std::to_string(**most));
  if (*nodes && *least && (**nodes < **least || **nodes > **most))
    return policy["numNodes"].wrong("between elasticPolicy's minNodes and maxNodes");
  return Sizes{*nodes, *least, *most};
}

std::string text_of(const Sizes& sizes) {
  if (sizes.least) return std::to_string(*sizes.least) + ":" + std::to_string(*sizes.most);
  return sizes.nodes ? std::to_string(*sizes.nodes) : "";
}

// completions must equal parallelism; where one is left out Kubernetes takes the other, or 1.
Result<std::optional<int>> pods_of(const Field& job) {
  auto parallelism = job["parallelism"].number(1, kMaxPods);
  if (!parallelism) return parallelism;
  auto completions = job["completions"].number(1, kMaxPods);
  if (!completions || !*completions) return completions ? parallelism : completions;
  if (*parallelism && **parallelism != **completions) {
    return job["completions"].wrong(std::to_string(**parallelism) +
                                    ", as parallelism is: all pods are nodes of one job");
  }
  return completions;
}

bool is_launcher(const std::string& name) { return name == "launcher" || name == "mpi-launcher"; }
bool is_one_pod(const std::string& name) {
  return is_launcher(name) || name == "master" || name == "coordinator" || name == "driver";
}

// A replicatedJob, before it is known how many pods each has.
struct JobPart {
  Field field;
  std::string name;
  int replicas = 1;
  std::optional<int> pods;  // of each replica
};

Result<JobPart> read_part(const Field& item) {
  const auto name = item["name"].text();
  const auto replicas = item["replicas"].number(1, kMaxPods);
  const auto pods = pods_of(item["template"]["spec"]);
  if (!name) return Error(name.error());
  if (!*name) return item["name"].wrong("the name of a replicatedJob");
  if (!replicas) return Error(replicas.error());
  if (!pods) return Error(pods.error());
  return JobPart{item, **name, replicas->value_or(1), *pods};
}

// They load a data set or a model, and end before the training begins.
bool is_initializer(const Field& item) {
  const Field labels = item["template"]["metadata"]["labels"];
  const auto step = labels["trainer.kubeflow.org/trainjob-ancestor-step"].text();
  return step && step->value_or("").ends_with("-initializer");
}

// What the policy says of all nodes is left for the pods whose number nobody says; a launcher
// without ranks is none of them.
void fill_in(std::vector<JobPart>& parts, int nodes, bool launcher_has_ranks) {
  int64_t rest = nodes;
  JobPart* open = nullptr;
  for (JobPart& part : parts) {
    if (!part.pods && (is_one_pod(part.name) || open != nullptr)) part.pods = 1;
    if (!part.pods) open = &part;
    const bool counts = launcher_has_ranks || !is_launcher(part.name) || parts.size() == 1;
    if (part.pods && counts) rest -= int64_t{*part.pods} * part.replicas;
  }
  if (open != nullptr) open->pods = static_cast<int>(std::max<int64_t>(1, rest / open->replicas));
}

/// `nodes`: of the policy above; 0 = it does not say.
Status read_replicas(const Field& spec, int nodes, Workload& workload) {
  const Field jobs = spec["replicatedJobs"];
  const auto items = jobs.items();
  if (!items) return Error(items.error());
  if (std::ranges::all_of(*items, is_initializer))
    return Error{Code::kUsage, 0, jobs.path() + ": there must be one"};
  workload.nodes_path = jobs.path();
  std::vector<JobPart> parts;
  for (const Field& item : *items) {
    if (is_initializer(item)) continue;
    auto part = read_part(item);
    if (!part) return std::move(part).error();
    parts.push_back(*std::move(part));
  }
  fill_in(parts, nodes, workload.launcher_has_ranks);
  for (const JobPart& part : parts) {
    const int64_t pods = int64_t{part.pods.value_or(1)} * part.replicas;
    if (pods > kMaxPods)
      return part.field["replicas"].wrong("fewer: these are " + std::to_string(pods) + " pods");
    auto replica =
        read_pod(part.field["template"]["spec"]["template"], part.name, static_cast<int>(pods));
    if (!replica) return std::move(replica).error();
    workload.replicas.push_back(*std::move(replica));
  }
  // In a cluster the coordinator is rank 0.
  const auto first = spec["coordinator"]["replicatedJob"].text();
  if (!first) return Error(first.error());
  const auto leads = [&first](const Replica& replica) {
    return replica.name == first->value_or("");
  };
  std::stable_partition(workload.replicas.begin(), workload.replicas.end(), leads);
  return {};
}

Status add_policy(const Field& policy, Workload& workload) {
  const Field mpi = policy["mpi"];
  const Field elastic = policy["torch"]["elasticPolicy"];
  const auto restarts = elastic["maxRestarts"].number(0, kMaxRestarts);
  if (!restarts) return Error(restarts.error());
  if (*restarts)
    workload.values.push_back(
        {flag::kMaxRestarts, std::to_string(**restarts), elastic["maxRestarts"].path()});
  for (const char* const framework : {"jax", "xgboost"})
    if (policy[framework].is_there())
      workload.values.push_back({flag::kFramework, framework, policy[framework].path()});
  if (!mpi.is_there()) return {};
  workload.values.push_back({flag::kFramework, "mpi", mpi.path()});
  return add_mpi(workload, mpi["mpiImplementation"]);
}

Status add_join_timeout(const Field& group, Workload& workload) {
  const Field timeout = group["coscheduling"]["scheduleTimeoutSeconds"];
  const auto seconds = timeout.number(1, kMaxSeconds);
  if (!seconds) return Error(seconds.error());
  if (*seconds)
    workload.values.push_back(
        {flag::kRdzvConf, "join_timeout=" + std::to_string(**seconds), timeout.path()});
  return {};
}

Field template_of(const Field& jobs, const std::string& name) {
  const auto items = jobs.items();
  for (const Field& item : items ? *items : std::vector<Field>())
    if (item["name"].text().value_or(std::nullopt) == name)
      return item["template"]["spec"]["template"];
  return {nullptr, jobs.path()};
}

}  // namespace

Status read_training_runtime(const Field& document, Workload& workload) {
  const Field spec = document["spec"];
  const Field policy = spec["mlPolicy"];
  const auto sizes = read_sizes(policy);
  if (!sizes) return Error(sizes.error());
  const auto launcher_has_ranks = policy["mpi"]["runLauncherAsNode"].boolean();
  if (!launcher_has_ranks) return Error(launcher_has_ranks.error());
  workload.launcher_has_ranks = launcher_has_ranks->value_or(false);
  workload.nodes = sizes->nodes.value_or(sizes->least.value_or(0));
  MUSTER_RETURN_IF_ERROR(read_replicas(spec["template"]["spec"], workload.nodes, workload));
  if (sizes->nodes) workload.nodes_path = policy["numNodes"].path();
  if (sizes->least)
    workload.values.push_back(
        {flag::kNnodes, text_of(*sizes), policy["torch"]["elasticPolicy"].path()});
  MUSTER_RETURN_IF_ERROR(add_policy(policy, workload));
  MUSTER_RETURN_IF_ERROR(add_join_timeout(spec["podGroupPolicy"], workload));
  const Field jobs = spec["template"]["spec"]["replicatedJobs"];
  const Field count = policy["mpi"].is_there() ? policy["mpi"]["numProcPerNode"]
                                               : policy["torch"]["numProcPerNode"];
  return add_pods_workers(workload, count, template_of(jobs, workload.replicas.back().name));
}

Status read_jobset(const Field& document, Workload& workload) {
  const Field spec = document["spec"];
  MUSTER_RETURN_IF_ERROR(read_replicas(spec, 0, workload));
  return add_pods_workers(workload, {nullptr, ""},
                          template_of(spec["replicatedJobs"], workload.replicas.back().name));
}

Status read_indexed_job(const Field& document, Workload& workload) {
  const Field spec = document["spec"];
  const auto pods = pods_of(spec);
  if (!pods) return Error(pods.error());
  auto replica = read_pod(spec["template"], workload.name, pods->value_or(1));
  if (!replica) return std::move(replica).error();
  workload.replicas.push_back(*std::move(replica));
  workload.nodes_path = spec["completions"].path();
  return add_pods_workers(workload, {nullptr, ""}, spec["template"]);
}

Result<std::optional<Workload>> read_runs(const Field& document) {
  const Field spec = document["spec"];
  std::optional<Workload> workload;
  if (document["kind"].text().value_or(std::nullopt) != "Job") return workload;
  auto replica = read_pod(spec["template"], "run", 1);
  if (!replica) return std::move(replica).error();
  const auto command = read_container_command({}, *replica, "1");
  if (!command) return Error(command.error());
  const GivenValue* const framework = command->find(flag::kFramework);
  if (framework == nullptr || framework->text != "plain") return workload;
  const auto parallelism = spec["parallelism"].number(1, kMaxPods);
  if (!parallelism) return Error(parallelism.error());
  const int at_a_time = parallelism->value_or(1);
  const auto runs = spec["completions"].number(1, kMaxPods);
  if (!runs) return Error(runs.error());
  const int in_all = runs->value_or(at_a_time);
  workload.emplace();
  workload->name = document["metadata"]["name"].text().value_or(std::nullopt).value_or("");
  workload->nodes_path = spec["completions"].path();
  workload->values = {{flag::kRuns, std::to_string(in_all), spec["completions"].path()},
                      {flag::kNprocPerNode, std::to_string(std::min(at_a_time, in_all)),
                       spec["parallelism"].path()},
                      {flag::kNnodes, "1", spec["completions"].path()}};
  workload->replicas.push_back(*std::move(replica));
  return workload;
}

}  // namespace muster::launcher
