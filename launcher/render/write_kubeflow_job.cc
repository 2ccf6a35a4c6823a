// Jobs of Kubeflow's operators: MPIJob and PyTorchJob. Source: mpi-operator 0.8, v2beta1;
// training-operator 1.9, v1.
#include <utility>

#include "base/text.h"
#include "launcher/render/companions.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/workload_parts.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

// The operator mounts its key for root alone at /root/.ssh, and for everybody elsewhere.
constexpr std::string_view kKeyFolder = "/etc/mpi-ssh";

json run_policy(JobForm& form) {
  json policy = {{"backoffLimit", backoff_limit(form)}, {"cleanPodPolicy", "Running"}};
  if (form.ttl_seconds) policy["ttlSecondsAfterFinished"] = *form.ttl_seconds;
  if (json scheduling = scheduling_policy(form); !scheduling.is_null())
    policy["schedulingPolicy"] = std::move(scheduling);
  return policy;
}

// The operator takes the policy of its own field, and not the pod's.
std::string take_restart_policy(json& pod, const std::string& otherwise) {
  const json policy = pod["spec"].value("restartPolicy", json());
  pod["spec"].erase("restartPolicy");
  return policy == "Never" || policy == "OnFailure" ? policy.get<std::string>() : otherwise;
}

json replica_spec(PodForm& pods, const std::string& restart_policy) {
  const std::string policy = take_restart_policy(pods.pod, restart_policy);
  return {{"replicas", pods.pods}, {"restartPolicy", policy}, {"template", std::move(pods.pod)}};
}

Documents companions_of(JobForm& form) {
  Documents documents = std::move(form.beside);
  documents.push_back(network_policy(form));
  return documents;
}

// One that only starts the ranks of others: it needs none of their devices, whose names have a
// domain in front ("nvidia.com/gpu", "rdma/hca").
PodForm launcher_for(const PodForm& workers) {
  PodForm launcher{"launcher", 1, workers.pod};
  json& container = container_of(launcher.pod);
  for (const char* const list : {"limits", "requests"}) {
    if (!container.contains("resources") || !container["resources"].contains(list)) continue;
    json kept = json::object();
    for (const auto& [name, amount] : container["resources"][list].items())
      if (name.find('/') == std::string::npos) kept[name] = amount;
    container["resources"][list] = std::move(kept);
  }
  return launcher;
}

Status shape_mpi(JobForm& form) {
  if (form.runs) return cannot_hold("mpijob", "--runs are jobs of one node", "job");
  if (!form.framework.empty() && form.framework != "mpi")
    return cannot_hold("mpijob", "--framework '" + form.framework + "' is not mpi",
                       "jobset or pytorchjob");
  if (form.pods.size() == 1) {
    form.launcher_has_ranks = false;
    form.pods.insert(form.pods.begin(), launcher_for(form.pods.front()));
  }
  if (form.pods.size() > 2 || form.pods.front().pods != 1)
    return cannot_hold("mpijob", "there is more than a launcher and workers", "jobset");
  return {};
}

Status shape_pytorch(JobForm& form) {
  if (form.runs) return cannot_hold("pytorchjob", "--runs are jobs of one node", "job");
  if (!form.launcher_has_ranks)
    return cannot_hold("pytorchjob", "a launcher without ranks is no master", "mpijob or jobset");
  if (is_elastic(form) && !merge_alike(form))
    return cannot_hold(
        "pytorchjob", "nodes '" + form.nodes + "' and a master of its own: only workers are scaled",
        "jobset");
  if (form.pods.size() > 2 || (form.pods.size() == 2 && form.pods.front().pods != 1))
    return cannot_hold("pytorchjob", "there is more than a master and workers", "jobset");
  return {};
}

json elastic_policy(JobForm& form) {
  const size_t colon = form.nodes.find(':');
  json policy = {{"minReplicas", parse_integer(form.nodes.substr(0, colon)).value_or(1)},
                 {"maxReplicas", parse_integer(form.nodes.substr(colon + 1)).value_or(1)},
                 {"rdzvBackend", "c10d"}};
  if (form.max_restarts) policy["maxRestarts"] = *std::exchange(form.max_restarts, std::nullopt);
  if (!form.metrics.is_null()) policy["metrics"] = form.metrics;
  return policy;
}

}  // namespace

Result<Documents> write_mpi_job(JobForm& form) {
  MUSTER_RETURN_IF_ERROR(shape_mpi(form));
  form.framework.clear();  // the operator says it
  set_job(form);
  if (is_elastic(form)) set_everywhere(form, "MUSTER_NNODES", form.nodes);
  declare_job_port(form);
  Documents documents = companions_of(form);
  json job = workload_document(form, "kubeflow.org/v2beta1", "MPIJob");
  json policy = run_policy(form);
  // A launcher that starts again needs workers that do, too: the operator makes no others.
  const std::string workers = policy["backoffLimit"] == 0 ? "Never" : "OnFailure";
  job["spec"] = {{"slotsPerWorker", workers_as_number(form)},
                 {"runLauncherAsWorker", form.launcher_has_ranks},
                 {"sshAuthMountPath", form.ssh_path.empty() ? kKeyFolder : form.ssh_path},
                 {"runPolicy", std::move(policy)}};
  if (!form.mpi.empty()) job["spec"]["mpiImplementation"] = form.mpi;
  job["spec"]["mpiReplicaSpecs"] = {{"Launcher", replica_spec(form.pods.front(), "Never")},
                                    {"Worker", replica_spec(form.pods.back(), workers)}};
  documents.push_back(std::move(job));
  return documents;
}

// OnFailure, and not ExitCode: a node that lost its peers ends with 69, and a program that lost a
// connection mostly with 1. ExitCode takes all below 128 for final, and backoffLimit would say
// nothing then.
Result<Documents> write_pytorch_job(JobForm& form) {
  MUSTER_RETURN_IF_ERROR(shape_pytorch(form));
  for (PodForm& pods : form.pods) container_of(pods.pod)["name"] = "pytorch";
  json spec = {{"runPolicy", run_policy(form)}};
  if (is_elastic(form)) spec["elasticPolicy"] = elastic_policy(form);  // tells maxRestarts, too
  if (!form.workers.empty()) spec["nprocPerNode"] = form.workers;
  set_job(form);
  mount_job_secret(form);
  Documents documents = companions_of(form);
  if (form.pods.size() == 2)
    spec["pytorchReplicaSpecs"]["Master"] = replica_spec(form.pods.front(), "OnFailure");
  spec["pytorchReplicaSpecs"]["Worker"] = replica_spec(form.pods.back(), "OnFailure");
  json job = workload_document(form, "kubeflow.org/v1", "PyTorchJob");
  job["spec"] = std::move(spec);
  documents.push_back(std::move(job));
  return documents;
}

}  // namespace muster::launcher
