#include "launcher/render/workload_parts.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr std::string_view kLauncher = "launcher";
constexpr int kSecretMode = 0400;
constexpr int kAnyGroup = 65532;  // "nonroot" of distroless images; any number would do
constexpr int kJobPort = 29400;
constexpr const char* kGpus[] = {"nvidia.com/gpu", "amd.com/gpu"};
// A command line or a configuration that is wrong now is wrong the next time, too (sysexits.h).
constexpr int kUsageCodes[] = {64, 78};

void set_unless_there(json& container, std::string_view name, std::string_view value) {
  if (!value.empty() && !has_variable(container, name)) set_variable(container, name, value);
}

// Files of a Secret are root's. The group of the pod's volumes may read them, whoever its user is.
void let_group_read(json& spec) {
  json& context = spec["securityContext"];
  if (context.is_null()) context = json::object();
  if (context.contains("fsGroup")) return;
  const json any = kAnyGroup;
  context["fsGroup"] = context.value("runAsGroup", context.value("runAsUser", any));
  context.emplace("fsGroupChangePolicy", "OnRootMismatch");  // large claims are walked once
}

json pod_failure_policy(const json& container) {
  const json disrupted = {
      {"action", "Ignore"},
      {"onPodConditions", {{{"type", "DisruptionTarget"}, {"status", "True"}}}}};
  const json wrong_words = {
      {"action", "FailJob"},
      {"onExitCodes",
       {{"containerName", container["name"]}, {"operator", "In"}, {"values", kUsageCodes}}}};
  return {{"rules", {disrupted, wrong_words}}};
}

bool starts_in_place(const PodForm& pods) {
  return pods.pod["spec"].value("restartPolicy", json()) == "OnFailure";
}

json replicated_job(PodForm& pods, int backoff_limit) {
  // What fails starts the whole set again, so that the pods of one attempt are of one age.
  const int in_job = pods.backoff_limit.value_or(starts_in_place(pods) ? backoff_limit : 0);
  return {{"name", pods.role}, {"replicas", 1}, {"template", {{"spec", job_spec(pods, in_job)}}}};
}

}  // namespace

int backoff_limit(JobForm& form) {
  for (const PodForm& pods : form.pods) {
    if (!form.backoff_limit) form.backoff_limit = pods.backoff_limit;
    if (pods.backoff_limit && pods.backoff_limit != form.backoff_limit)
      form.left.push_back("backoffLimit of " + pods.role);
  }
  return form.backoff_limit.value_or(kBackoffLimit);
}

void set_everywhere(JobForm& form, std::string_view name, std::string_view value) {
  for (PodForm& pods : form.pods) set_unless_there(container_of(pods.pod), name, value);
}

void set_job(JobForm& form) {
  set_everywhere(form, "MUSTER_FRAMEWORK", form.framework);
  set_everywhere(form, "MUSTER_MPI", to_lower(form.mpi));
  if (form.max_restarts)
    set_everywhere(form, "MUSTER_MAX_RESTARTS", std::to_string(*form.max_restarts));
  if (form.framework != "mpi" || !has_launcher(form)) return;
  const char* const first = form.launcher_has_ranks ? "launcher-worker" : "launcher";
  set_unless_there(container_of(form.pods.front().pod), "MUSTER_MPI_ROLE", first);
  set_everywhere(form, "MUSTER_MPI_ROLE", "worker");
}

void set_sizes(JobForm& form) {
  set_everywhere(form, "MUSTER_NNODES", form.runs ? "1" : form.nodes);
  set_everywhere(form, "MUSTER_NPROC_PER_NODE", form.workers);
}

void mount_job_secret(JobForm& form) {
  if (form.runs || pod_count(form) == 1) return;
  const std::string secret = form.name + "-muster";
  const json source = {{"secretName", secret}, {"defaultMode", kSecretMode}};
  bool mounted = false;
  for (PodForm& pods : form.pods) {
    json& container = container_of(pods.pod);
    if (has_variable(container, kSecretFile)) continue;
    add_volume(pods.pod, "muster-secret", {{"secret", source}}, kSecretFolder, true);
    set_variable(container, kSecretFile, std::string(kSecretFolder) + "/secret");
    let_group_read(pods.pod["spec"]);
    mounted = true;
  }
  const std::string place = form.name_space.empty() ? "" : " -n " + form.name_space;
  if (mounted)
    form.remarks.push_back(
        "the job's secret is made by: head -c 32 /dev/urandom | base64 | kubectl" + place +
        " create secret generic " + secret + " --from-file=secret=/dev/stdin");
}

void let_group_read_secrets(JobForm& form) {
  for (PodForm& pods : form.pods) let_group_read(pods.pod["spec"]);
}

void declare_job_port(JobForm& form) {
  if (pod_count(form) == 1 || form.runs) return;
  for (PodForm& pods : form.pods) add_port(pods.pod, "muster", kJobPort);
}

bool has_launcher(const JobForm& form) {
  return !form.launcher_has_ranks || (form.pods.size() > 1 && form.pods.front().role == kLauncher);
}

bool is_elastic(const JobForm& form) { return form.nodes.find(':') != std::string::npos; }

int pod_count(const JobForm& form) {
  int count = 0;
  for (const PodForm& pods : form.pods) count += pods.pods;
  return count;
}

int ranked_pods(const JobForm& form) {
  return pod_count(form) - (form.launcher_has_ranks ? 0 : form.pods.front().pods);
}

int least_pods(const JobForm& form) {
  const auto least = parse_integer(form.nodes.substr(0, form.nodes.find(':')));
  if (!is_elastic(form) || !least) return pod_count(form);
  return static_cast<int>(*least) + pod_count(form) - ranked_pods(form);
}

int workers_as_number(const JobForm& form) {
  if (const auto said = parse_integer(form.workers)) return static_cast<int>(*said);
  const json& container = first_ranks(form).pod["spec"]["containers"][0];
  for (const char* const name : kGpus) {
    const auto count = resource_limit(container, name);
    if (count > 0) return count;
  }
  return 1;
}

json job_spec(PodForm& pods, int backoff_limit) {
  json& spec = pods.pod["spec"];
  json job = {{"completionMode", "Indexed"},
              {"completions", pods.pods},
              {"parallelism", pods.pods},
              {"backoffLimit", backoff_limit}};
  if (!starts_in_place(pods)) {
    spec["restartPolicy"] = "Never";
    job["podFailurePolicy"] = pod_failure_policy(container_of(pods.pod));
  }
  job["template"] = std::move(pods.pod);
  return job;
}

json jobset_spec(JobForm& form) {
  const int limit = form.backoff_limit.value_or(kBackoffLimit);
  const std::string first = form.pods.front().role;
  json jobs = json::array();
  for (PodForm& pods : form.pods) jobs.push_back(replicated_job(pods, limit));
  const json wrong_words = {{"name", "WrongCommandLine"},
                            {"action", "FailJobSet"},
                            {"onJobFailureReasons", {"PodFailurePolicy"}}};
  json spec = {{"replicatedJobs", std::move(jobs)},
               {"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
               {"failurePolicy", {{"maxRestarts", limit}, {"rules", {wrong_words}}}}};
  if (has_launcher(form))
    spec["successPolicy"] = {{"operator", "All"}, {"targetReplicatedJobs", {first}}};
  return spec;
}

Error cannot_hold(std::string_view kind, std::string_view what, std::string_view others) {
  return wrong("--to " + std::string(kind) + ": " + std::string(what) + "; --to " +
               std::string(others) + " can hold it");
}

bool merge_alike(JobForm& form) {
  for (const PodForm& pods : form.pods)
    if (pods.pod != form.pods.front().pod) return false;
  PodForm all = std::move(form.pods.back());
  for (size_t i = 0; i + 1 < form.pods.size(); ++i) all.pods += form.pods[i].pods;
  form.pods.clear();
  form.pods.push_back(std::move(all));
  return true;
}

}  // namespace muster::launcher
