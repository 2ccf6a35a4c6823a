#include "launcher/render/form_of_manifest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "launcher/manifest/container_command.h"
#include "launcher/manifest/documents.h"
#include "launcher/manifest/field.h"
#include "launcher/manifest/pod_template.h"
#include "launcher/manifest/workload.h"
#include "launcher/manifest/yaml_reader.h"
#include "launcher/options/choice.h"
#include "launcher/options/option_values.h"
#include "launcher/render/carried_fields.h"
#include "launcher/render/manifest_pod.h"
#include "launcher/render/names.h"
#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr int kMost = std::numeric_limits<int>::max();
constexpr std::string_view kAddressPort = "29500";
constexpr const char* kRootsKeys = "/root/.ssh";
constexpr const char* kMetrics = "ome.io/metrics-enabled";

// Of those fields that are there the first; none: no such number.
Result<std::optional<int>> first_number(const Field& document,
                                        std::initializer_list<const char*> paths) {
  for (const char* const path : paths) {
    auto number = document.at(path).number(0, kMost);
    if (!number || *number) return number;
  }
  return std::optional<int>();
}

// `map` is one, or not there.
void add_texts(const Field& map, json& texts) {
  if (!map.is_there()) return;
  for (const auto& [key, value] : map.value().items())
    if (const auto text = map[key].text(); text && *text) texts[key] = **text;
}

Status read_metadata(const Field& document, JobForm& form) {
  form.name_space = document["metadata"]["namespace"].text()->value_or("");
  for (const char* const place : {"metadata", "spec.template.metadata", "spec"}) {
    // A TrainJob has both in its spec. A Job's template is that of its pods.
    if (document["kind"].text().value() == "Job" && place != std::string_view("metadata")) continue;
    const Field metadata = document.at(place);
    MUSTER_RETURN_IF_ERROR(check_labels(metadata));
    add_texts(metadata["labels"], form.labels);
    add_texts(metadata["annotations"], form.annotations);
  }
  return {};
}

Status read_gang(const Field& policy, JobForm& form) {
  const Field gang = policy["coscheduling"];
  const Field volcano = policy["volcano"];
  const auto timeout = gang["scheduleTimeoutSeconds"].number(1, kMost);
  const auto members = volcano["minMember"].number(1, kMost);
  const auto queue = volcano["queue"].text();
  const auto priority = volcano["priorityClassName"].text();
  for (const auto* number : {&timeout, &members})
    if (!*number) return Error(number->error());
  for (const auto* text : {&queue, &priority})
    if (!*text) return Error(text->error());
  if (gang.is_there()) form.gang["coscheduling"] = json::object();
  if (*timeout) form.gang["coscheduling"]["scheduleTimeoutSeconds"] = **timeout;
  if (volcano.is_there()) form.gang["volcano"] = json::object();
  if (*members) form.gang["volcano"]["minMember"] = **members;
  if (*queue) form.gang["volcano"]["queue"] = **queue;
  if (*priority) form.gang["volcano"]["priorityClassName"] = **priority;
  return {};
}

// What Muster is told in the pods of `replica`, by its words and variables. Words that it would
// refuse say nothing; whoever runs it tells.
std::vector<ManifestValue> told_in(const Workload& workload, Replica replica) {
  constexpr std::string_view kMuster[] = {"muster", "run", "--"};  // as the pod will begin
  replica.words.insert(replica.words.begin(), std::begin(kMuster), std::end(kMuster));
  const std::string nodes = std::to_string(node_count(workload));
  const auto command = read_container_command(workload, replica, nodes);
  std::vector<ManifestValue> values;
  if (!command) return values;
  for (const auto& [flag, value] : command->given)
    if (value.kind != SourceKind::kContract)
      values.push_back({flag, value.text, replica.path + ": " + value.source});
  return values;
}

// What it is told in all pods. Those of MPI have the words of the first.
Workload told_everywhere(const Workload& workload) {
  Workload told{.values = told_in(workload, workload.replicas.front())};
  for (size_t i = 1; i < workload.replicas.size() && !is_of_mpi(workload); ++i) {
    const Workload other{.values = told_in(workload, workload.replicas[i])};
    std::erase_if(told.values, [&other](const ManifestValue& value) {
      const ManifestValue* const there = find_value(other, value.flag);
      return there == nullptr || there->text != value.text;
    });
  }
  return told;
}

struct RunsOfJob {
  Runs runs;
  Workload workload;  // one of them
};

// A Job whose pods are runs of their own: none knows of the others. None: they are nodes of one
// job, or something is wrong, which the reader of such Jobs tells.
std::optional<RunsOfJob> runs_of(const Field& document) {
  const Field spec = document["spec"];
  const auto runs = spec["completions"].number(1, kMaxPods);
  const auto parallelism = spec["parallelism"].number(1, kMaxPods);
  auto replica = read_pod(spec["template"], "run", 1);
  if (document["kind"].text().value() != "Job" || !runs || !parallelism || !replica) return {};
  Workload workload{.name = document["metadata"]["name"].text().value_or(std::nullopt).value_or(""),
                    .values = {{flag::kNnodes, "1", spec["completions"].path()}},
                    .replicas = {*std::move(replica)}};
  const int at_a_time = parallelism->value_or(1);
  const int in_all = runs->value_or(at_a_time);
  const Workload told = told_everywhere(workload);
  const ManifestValue* const nodes = find_value(told, flag::kNnodes);
  const ManifestValue* const framework = find_value(told, flag::kFramework);
  const bool is_plain = framework != nullptr && framework->text == "plain";
  if (in_all == 1 || (nodes == nullptr ? !is_plain : nodes->text != "1")) return {};
  return RunsOfJob{{in_all, at_a_time}, std::move(workload)};
}

std::string framework_of(const Workload& workload, const Workload& told) {
  const ManifestValue* const said =
      find_value(is_of_mpi(workload) ? workload : told, flag::kFramework);
  const ManifestValue* const value =
      said == nullptr ? find_value(workload, flag::kFramework) : said;
  return value == nullptr ? "" : value->text;
}

// A number of nodes is that of the pods, whatever they are told.
std::string nodes_of(const Workload& workload, const Workload& told) {
  const ManifestValue* const value = find_value(told, flag::kNnodes);
  const auto range = parse_node_range(value == nullptr ? "" : value->text);
  const int nodes = node_count(workload);
  if (range && range->min < range->max && range->min <= nodes && nodes <= range->max)
    return value->text;
  return find_value(workload, flag::kNnodes)->text;  // each has one
}

// As a field of a manifest has it.
std::string mpi_of(const Field& document, const Workload& workload, const Workload& told) {
  constexpr std::string_view kNames[] = {"OpenMPI", "Intel", "MPICH"};
  if (const ManifestValue* const mpi = find_value(told, flag::kMpi))
    for (const std::string_view name : kNames)
      if (to_lower(name) == mpi->text) return std::string(name);
  const ManifestValue* const mpi = find_value(workload, flag::kMpi);
  return mpi == nullptr ? "" : document.at(mpi->path).text()->value_or("");
}

// As the field says it: "auto" is the pods' business. Of MPI the number, because an operator writes
// it into a hostfile.
std::string workers_of(const Field& document, const Workload& workload, const Workload& told) {
  if (const ManifestValue* const value = find_value(told, flag::kNprocPerNode)) return value->text;
  const Field elastic = document.at("spec.elasticPolicy.nProcPerNode");  // an old place for it
  if (elastic.is_there()) return elastic.text().value_or(std::nullopt).value_or("");
  const ManifestValue* const value = find_value(workload, flag::kNprocPerNode);
  if (value == nullptr) return "";
  if (is_of_mpi(workload) && parse_integer(value->text)) return value->text;
  return document.at(value->path).text().value_or(std::nullopt).value_or("");
}

// What Kubeflow's operators say of the same. A queue is Volcano's.
Status read_scheduling(const Field& policy, JobForm& form) {
  if (!policy.is_there()) return {};
  const auto members = policy["minAvailable"].number(1, kMost);
  const auto timeout = policy["scheduleTimeoutSeconds"].number(1, kMost);
  const auto queue = policy["queue"].text();
  const auto priority = policy["priorityClass"].text();
  for (const auto* number : {&members, &timeout})
    if (!*number) return Error(number->error());
  for (const auto* text : {&queue, &priority})
    if (!*text) return Error(text->error());
  json& gang = form.gang[*queue || *priority ? "volcano" : "coscheduling"];
  gang = json::object();
  if (*members) gang["minMember"] = **members;
  if (*timeout) gang["scheduleTimeoutSeconds"] = **timeout;
  if (*queue) gang["queue"] = **queue;
  if (*priority) gang["priorityClassName"] = **priority;
  if (policy["minResources"].is_there()) gang["minResources"] = policy["minResources"].value();
  return {};
}

Status read_policies(const Field& document, JobForm& form) {
  MUSTER_RETURN_IF_ERROR(read_gang(document.at("spec.podGroupPolicy"), form));
  MUSTER_RETURN_IF_ERROR(read_scheduling(document.at("spec.runPolicy.schedulingPolicy"), form));
  const Field ssh = document.at("spec.mlPolicy.mpi.sshAuthMountPath").is_there()
                        ? document.at("spec.mlPolicy.mpi.sshAuthMountPath")
                        : document.at("spec.sshAuthMountPath");
  const auto folder = ssh.text();
  if (!folder) return Error(folder.error());
  form.ssh_path = folder->value_or("");
  for (const char* const path :
       {"spec.mlPolicy.torch.elasticPolicy.metrics", "spec.elasticPolicy.metrics"}) {
    const auto metrics = document.at(path).items();
    if (!metrics) return Error(metrics.error());
    if (!metrics->empty()) form.metrics = document.at(path).value();
  }
  return {};
}

// Those by Muster are within each attempt of the controller, so that their numbers multiply.
Status read_restarts(const Field& document, const Workload& workload, const Workload& told,
                     JobForm& form) {
  const auto limit = first_number(
      document, {"spec.template.spec.failurePolicy.maxRestarts", "spec.failurePolicy.maxRestarts",
                 "spec.backoffLimit", "spec.runPolicy.backoffLimit"});
  if (!limit) return Error(limit.error());
  form.backoff_limit = *limit;
  const ManifestValue* own = find_value(told, flag::kMaxRestarts);
  if (own == nullptr) own = find_value(workload, flag::kMaxRestarts);
  const auto restarts = parse_integer(own == nullptr ? "" : own->text);
  if (!restarts || *restarts < 0 || *restarts > kMost) return {};
  form.max_restarts = static_cast<int>(*restarts);
  // A TrainingRuntime's number is meant for both.
  const bool is_runtime = own->path.starts_with("spec.mlPolicy");
  if (is_runtime && !form.backoff_limit) form.backoff_limit = form.max_restarts;
  if (form.backoff_limit) {
    const int64_t attempts = (int64_t{*form.max_restarts} + 1) * (int64_t{*form.backoff_limit} + 1);
    form.remarks.push_back(own->path + ": " + own->text + " restarts by Muster in each of " +
                           std::to_string(*form.backoff_limit + int64_t{1}) +
                           " attempts of the controller are " + std::to_string(attempts) +
                           " attempts in all");
  }
  return {};
}

// The Job, or the replica of an operator, in which the pod's template stands.
Status read_holder(const Field& document, const Replica& replica, PodForm& pods,
                   std::vector<std::string>& remarks) {
  const std::string path = pod_path(replica);
  if (path.empty()) return {};
  const Field holder = document.at(path.substr(0, path.rfind(".template")));
  const auto limit = holder["backoffLimit"].number(0, kMost);
  const auto policy = holder["restartPolicy"].text();
  if (!limit || !policy) return Error(limit ? policy.error() : limit.error());
  if (holder.path() != "spec") pods.backoff_limit = *limit;  // a Job's own is the form's
  if (*policy == "Never" || *policy == "OnFailure")
    pods.pod["spec"]["restartPolicy"] = **policy;
  else if (*policy)
    remarks.push_back(holder["restartPolicy"].path() + ": '" + **policy +
                      "' is left out: each failure of a pod counts, and nothing but failures");
  return {};
}

// Several Jobs of a JobSet that are alike: Muster writes one with all their pods.
void tell_of_replicas(const Field& document, const Replica& replica, JobForm& form) {
  const std::string path = pod_path(replica);
  const Field replicas =
      document.at(path.substr(0, path.rfind(".template.spec.template")))["replicas"];
  const auto count = replicas.number(1, kMost).value_or(std::nullopt).value_or(1);
  if (count > 1 && path.ends_with(".template.spec.template"))
    form.remarks.push_back(replicas.path() + ": " + std::to_string(count) + " Jobs become one of " +
                           std::to_string(replica.pods) + " pods");
}

Status add_pods(const Field& document, const Workload& workload, JobForm& form) {
  for (const Replica& replica : workload.replicas) {
    auto pod = read_pod_template(document, replica);
    if (!pod) return std::move(pod).error();
    const bool is_job = document["kind"].text().value() == "Job";
    PodForm pods{is_job ? "worker" : replica.name, replica.pods, *std::move(pod)};
    MUSTER_RETURN_IF_ERROR(read_holder(document, replica, pods, form.remarks));
    tell_of_replicas(document, replica, form);
    form.pods.push_back(std::move(pods));
  }
  const bool is_mpi = is_of_mpi(workload);
  for (PodForm& pods : form.pods) {
    json& container = container_of(pods.pod);
    const json& launcher = container_of(form.pods.front().pod);
    if (is_mpi && &container != &launcher && only_serves(container)) {
      serve_by_muster(container, launcher);  // whose command is Muster's already
      continue;
    }
    std::string remark = put_muster_first(container, form.nodes);
    if (!remark.empty()) form.remarks.push_back(std::move(remark));
  }
  return {};
}

void add_metrics(JobForm& form) {
  for (PodForm& pods : form.pods) {
    for (const Field& annotations :
         {Field(&form.annotations, ""), Field(&pods.pod, "")["metadata"]["annotations"]}) {
      const auto wants = annotations[kMetrics].text();
      if (wants && *wants == "true") publish_metrics(pods.pod);
    }
  }
}

bool is_root(const PodForm& pods) {
  for (const char* const place : {"spec.containers[0].securityContext", "spec.securityContext"}) {
    const Field user = Field(&pods.pod, "").at(place)["runAsUser"];
    if (user.is_there()) return user.value() == 0;
  }
  return false;
}

// Of the first pod with ranks, as a job of that kind calls it.
std::string first_host(const JobForm& form, const std::string& name, JobKind kind) {
  const PodForm& first = first_ranks(form);
  switch (kind) {
    case JobKind::kJob:
      return name + "-0." + name;
    case JobKind::kMpiJob:
      return name + (first.role == "launcher" ? "-launcher." : "-worker-0.") + name;
    case JobKind::kPytorchJob:
      return name + (form.pods.size() > 1 ? "-master-0" : "-worker-0");
    case JobKind::kTrainJob:
      return name + "-node-0-0." + name;
    case JobKind::kJobSet:
      break;
  }
  return name + "-" + first.role + "-0-0." + name;
}

// Of one that Muster has rendered.
JobKind kind_of(const Field& document) {
  constexpr std::pair<std::string_view, JobKind> kKinds[] = {{"JobSet", JobKind::kJobSet},
                                                             {"Job", JobKind::kJob},
                                                             {"MPIJob", JobKind::kMpiJob},
                                                             {"PyTorchJob", JobKind::kPytorchJob}};
  for (const auto& [name, kind] : kKinds)
    if (document["kind"].text().value() == name) return kind;
  return JobKind::kTrainJob;
}

// What render has mounted for a job of another name; that of the new name is mounted anew.
void drop_secret(json& pod, const std::string& secret) {
  constexpr const char* kVolume = "muster-secret";
  const auto has_name = [](const json& item) { return item.value("name", "") == kVolume; };
  json& spec = pod["spec"];
  const bool is_there =
      std::ranges::any_of(spec.value("volumes", json::array()), [&](const json& volume) {
        return has_name(volume) && Field(&volume, "")["secret"]["secretName"].value() == secret;
      });
  if (!is_there) return;
  const auto erase = [](json& list, const auto& wanted) {
    list.erase(std::remove_if(list.begin(), list.end(), wanted), list.end());
  };
  json& container = container_of(pod);
  erase(spec["volumes"], has_name);
  if (container.contains("volumeMounts")) erase(container["volumeMounts"], has_name);
  if (container.contains("env"))
    erase(container["env"], [](const json& item) { return item.value("name", "") == kSecretFile; });
}

// What follows from the name or the kind that the job had.
void forget_old_job(JobForm& form, const std::string& name, JobKind kind) {
  const json address = {{"name", "MASTER_ADDR"}, {"value", first_host(form, name, kind)}};
  for (PodForm& pods : form.pods) {
    if (name != form.name) drop_secret(pods.pod, name + "-muster");
    json& container = container_of(pods.pod);
    if (!container.contains("env")) continue;
    json& variables = container["env"];
    variables.erase(std::remove(variables.begin(), variables.end(), address), variables.end());
  }
}

bool names(const json& container, const std::string& variable) {
  const auto is_in = [&](const char* list) {
    const json words = container.value(list, json::array());
    return std::ranges::any_of(words, [&variable](const json& word) {
      return word.is_string() &&
             word.get<std::string>().find("$(" + variable + ")") != std::string::npos;
    });
  };
  return !has_variable(container, variable) && (is_in("command") || is_in("args"));
}

}  // namespace

Result<JobForm> form_of_manifest(const std::string& text, const std::string& name) {
  const auto documents = read_yaml(text);
  if (!documents) return Error(documents.error());
  const auto found = find_workload(*documents);
  if (!found) return Error(found.error());
  const Field document(&*found, "");
  const auto runs = runs_of(document);
  const auto workload = runs ? Result<Workload>(runs->workload) : workload_of(*found);
  if (!workload) return Error(workload.error());
  JobForm form;
  if (runs) form.runs = runs->runs;
  form.name = name.empty() ? workload->name : name;
  if (form.name.empty()) return document["metadata"]["name"].wrong("a name; or give --name");
  if (const size_t count = flattened(*documents).size(); count > 1)
    form.remarks.push_back("of " + std::to_string(count) +
                           " documents only the job is written, with what Muster puts beside it");
  const Workload told = told_everywhere(*workload);
  form.framework = framework_of(*workload, told);
  form.launcher_has_ranks = !workload->has_launcher;
  form.nodes = nodes_of(*workload, told);
  form.workers = workers_of(document, *workload, told);
  form.mpi = mpi_of(document, *workload, told);
  MUSTER_RETURN_IF_ERROR(check_names(document));
  MUSTER_RETURN_IF_ERROR(read_metadata(document, form));
  MUSTER_RETURN_IF_ERROR(read_policies(document, form));
  MUSTER_RETURN_IF_ERROR(read_restarts(document, *workload, told, form));
  MUSTER_RETURN_IF_ERROR(add_pods(document, *workload, form));
  forget_old_job(form, workload->name, kind_of(document));
  add_metrics(form);
  MUSTER_RETURN_IF_ERROR(read_carried(document, *workload, form));
  return form;
}

void settle_keys(JobForm& form, JobKind kind) {
  if (form.ssh_path.empty()) return;
  if (kind != JobKind::kMpiJob && kind != JobKind::kTrainJob) {
    form.left.emplace_back("sshAuthMountPath");
  } else if (form.ssh_path == kRootsKeys && !std::ranges::all_of(form.pods, is_root)) {
    form.remarks.push_back(std::string("sshAuthMountPath: ") + kRootsKeys +
                           " is for root alone, and the pods are not root's: the keys are mounted "
                           "elsewhere, where Muster finds them");
  } else {
    return;
  }
  form.ssh_path.clear();
}

void add_addresses(JobForm& form, JobKind kind) {
  for (PodForm& pods : form.pods) {
    json& container = container_of(pods.pod);
    if (names(container, "MASTER_ADDR"))
      set_variable(container, "MASTER_ADDR", first_host(form, form.name, kind));
    if (names(container, "MASTER_PORT")) set_variable(container, "MASTER_PORT", kAddressPort);
  }
}

}  // namespace muster::launcher
