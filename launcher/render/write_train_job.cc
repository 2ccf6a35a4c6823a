// A TrainingRuntime, which is a JobSet with a policy, and the TrainJob that runs it. Source:
// Kubeflow Trainer 2.3, v1alpha1.
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/companions.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/workload_parts.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr const char* kApi = "trainer.kubeflow.org/v1alpha1";
constexpr const char* kKind = "trainjob";
// What the Trainer looks for: it tells this container, of this replicatedJob, sizes and ranks.
constexpr const char* kNode = "node";
constexpr const char* kStep = "trainer.kubeflow.org/trainjob-ancestor-step";
constexpr const char* kQueue = "scheduling.volcano.sh/queue-name";
constexpr const char* kTimeout = "scheduleTimeoutSeconds";
constexpr const char* kKeyFolder = "/etc/mpi-ssh";

bool is_mpi(const JobForm& form) { return form.framework == "mpi" && has_launcher(form); }

// mlPolicy's word for it; "" = the Trainer tells such pods nothing, and labels and variables do.
std::string_view policy_of(const JobForm& form) {
  if (form.framework.empty() || form.framework == "pytorch") return "torch";
  const bool is_known = is_mpi(form) || form.framework == "jax" || form.framework == "xgboost";
  return is_known ? std::string_view(form.framework) : std::string_view();
}

Status check(JobForm& form) {
  const auto refuse = [](std::string_view what, std::string_view others) {
    return cannot_hold(kKind, what, others);
  };
  if (form.runs) return refuse("--runs are jobs of one node", "job");
  if (form.ttl_seconds)
    return refuse("--ttl: '" + std::to_string(*form.ttl_seconds) + "s': there is no such field",
                  "jobset, job, mpijob or pytorchjob");
  if (is_mpi(form)) {
    if (form.pods.size() != 2 || form.pods.front().pods != 1)
      return refuse("there is more than a launcher and its workers", "jobset");
    if (!form.mpi.empty() && form.mpi != "OpenMPI")
      return refuse("mpiImplementation '" + form.mpi + "' is not OpenMPI", "mpijob or jobset");
  } else if (!merge_alike(form)) {
    return refuse("its pods differ, and those of a TrainJob are alike", "jobset or pytorchjob");
  }
  for (const json& gang : form.gang)
    if (gang.is_object() && gang.value("minMember", json(pod_count(form))) != pod_count(form))
      return refuse("minMember of the gang: " + gang["minMember"].dump() +
                        " must be the number of pods, " + std::to_string(pod_count(form)),
                    "jobset");
  return {};
}

// Of MPI the number in the runtime is that of launchers; the TrainJob's is that of nodes.
json ml_policy(const JobForm& form) {
  json policy = {{"numNodes", is_mpi(form) ? 1 : ranked_pods(form)}};
  const std::string name(policy_of(form));
  if (!name.empty()) policy[name] = json::object();
  if (!is_mpi(form)) return policy;
  policy["mpi"] = {{"numProcPerNode", workers_as_number(form)},
                   {"mpiImplementation", "OpenMPI"},
                   {"sshAuthMountPath", form.ssh_path.empty() ? kKeyFolder : form.ssh_path},
                   {"runLauncherAsNode", form.launcher_has_ranks}};
  return policy;
}

// The Trainer counts members itself, and reads the rest of Volcano's fields from the pods.
json pod_group_policy(const JobForm& form, const json& gang) {
  if (form.gang.contains("volcano")) return {{"volcano", json::object()}};
  json policy = {{"coscheduling", json::object()}};
  if (gang.contains(kTimeout)) policy["coscheduling"][kTimeout] = gang[kTimeout];
  return policy;
}

// The pods' controller is this one: sizes of the parts are its own to fill in.
json runtime_template(JobForm& form, const json& gang) {
  for (PodForm& pods : form.pods) {
    pods.role = &pods == &form.pods.front() && is_mpi(form) ? "launcher" : kNode;
    container_of(pods.pod)["name"] = kNode;
    if (gang.contains("priorityClassName"))
      pods.pod["spec"].emplace("priorityClassName", gang["priorityClassName"]);
    if (!form.gang.is_null() && form.gang.contains("volcano"))
      pods.pod["spec"].emplace("schedulerName", "volcano");
  }
  json made = {{"spec", jobset_spec(form)}};
  if (gang.contains("queue")) made["metadata"]["annotations"][kQueue] = gang["queue"];
  for (json& job : made["spec"]["replicatedJobs"]) {
    for (const char* const size : {"completions", "parallelism"})
      job["template"]["spec"].erase(size);
  }
  made["spec"]["replicatedJobs"][0]["template"]["metadata"]["labels"][kStep] = "trainer";
  return made;
}

// What mlPolicy does not tell the pods.
void set_the_rest(JobForm& form) {
  const std::string_view policy = policy_of(form);
  const bool by_number = policy == "torch" && (form.workers.empty() || form.workers == "auto" ||
                                               parse_integer(form.workers));
  if (is_elastic(form)) {
    set_everywhere(form, "MUSTER_NNODES", form.nodes);
    form.remarks.push_back("nodes '" + form.nodes + "': a TrainJob keeps its " +
                           std::to_string(ranked_pods(form)) +
                           " pods; the job goes on with the least of them, but is not scaled");
  } else if (policy.empty()) {
    set_everywhere(form, "MUSTER_NNODES", form.nodes);
  }
  if (!by_number && !is_mpi(form)) set_everywhere(form, "MUSTER_NPROC_PER_NODE", form.workers);
  if (!is_mpi(form)) return set_job(form);
  const std::string framework = std::exchange(form.framework, "");  // known by hostfile and names
  set_job(form);
  form.framework = framework;
}

}  // namespace

Result<Documents> write_train_job(JobForm& form) {
  MUSTER_RETURN_IF_ERROR(check(form));
  set_the_rest(form);
  if (is_mpi(form))
    let_group_read_secrets(form);
  else
    mount_job_secret(form);
  if (is_mpi(form) || policy_of(form).empty()) declare_job_port(form);  // else it is the Trainer's
  Documents documents = std::move(form.beside);
  documents.push_back(network_policy(form));
  json runtime = document(form, kApi, "TrainingRuntime", form.name);
  runtime["spec"]["mlPolicy"] = ml_policy(form);
  const json gang = form.gang.is_null() ? json::object() : pod_group_fields(form);
  if (gang.contains("minResources")) form.left.emplace_back("minResources");
  if (!form.gang.is_null()) runtime["spec"]["podGroupPolicy"] = pod_group_policy(form, gang);
  json job = workload_document(form, kApi, "TrainJob");
  json trainer = {{"numNodes", ranked_pods(form)}};
  if (const auto workers = parse_integer(form.workers)) trainer["numProcPerNode"] = *workers;
  job["spec"] = {
      {"runtimeRef",
       {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "TrainingRuntime"}, {"name", form.name}}},
      {"trainer", std::move(trainer)}};
  runtime["spec"]["template"] = runtime_template(form, gang);
  documents.push_back(std::move(runtime));
  documents.push_back(std::move(job));
  return documents;
}

}  // namespace muster::launcher
