#include "launcher/render/carried_fields.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/manifest_pod.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

enum class Type { kNumber, kBoolean, kText, kAny };

// `usual`: says what Muster writes or a controller takes anyway; nothing is told of it. `only`: any
// other value is left out, for it would contradict the pods; "" = all are carried.
struct Row {
  Type type;
  std::string_view usual;
  std::string_view only;
  /// In the spec of each JobKind, in their order; "" = nowhere, "@" = in each
  /// replicatedJob of a JobSet.
  std::string_view places[5];
};
constexpr Row kRows[] = {
    {Type::kNumber,
     "",
     "",
     {"@template.spec.activeDeadlineSeconds", "activeDeadlineSeconds",
      "runPolicy.activeDeadlineSeconds", "runPolicy.activeDeadlineSeconds",
      "activeDeadlineSeconds"}},
    {Type::kNumber,
     "",
     "",
     {"ttlSecondsAfterFinished", "ttlSecondsAfterFinished", "runPolicy.ttlSecondsAfterFinished",
      "runPolicy.ttlSecondsAfterFinished", ""}},
    {Type::kBoolean,
     "false",
     "",
     {"suspend", "suspend", "runPolicy.suspend", "runPolicy.suspend", "suspend"}},
    // Any other word names a controller of one kind.
    {Type::kText,
     "",
     "kueue.x-k8s.io/multikueue",
     {"managedBy", "managedBy", "runPolicy.managedBy", "runPolicy.managedBy", "managedBy"}},
    // Of a Job
    {Type::kText, "Indexed", "Indexed", {"@template.spec.completionMode", "completionMode"}},
    {Type::kAny, "", "", {"@template.spec.podFailurePolicy", "podFailurePolicy"}},
    {Type::kText, "", "Failed", {"@template.spec.podReplacementPolicy", "podReplacementPolicy"}},
    {Type::kAny, "", "", {"@template.spec.successPolicy", "successPolicy"}},
    {Type::kNumber, "", "", {"@template.spec.backoffLimitPerIndex", "backoffLimitPerIndex"}},
    {Type::kNumber, "", "", {"@template.spec.maxFailedIndexes", "maxFailedIndexes"}},
    // Of a JobSet
    {Type::kAny, "", "", {"@template.metadata"}},
    {Type::kAny, "", "", {"@dependsOn"}},
    {Type::kText, "default", "", {"@groupName"}},
    {Type::kNumber, "0", "0", {"coordinator.jobIndex"}},
    {Type::kNumber, "0", "0", {"coordinator.podIndex"}},
    {Type::kText, "Recreate", "BlockingRecreate", {"failurePolicy.restartStrategy"}},
    {Type::kAny, "", "", {"failurePolicy.rules"}},
    {Type::kBoolean, "true", "true", {"network.enableDNSHostnames"}},
    {Type::kBoolean, "true", "true", {"network.publishNotReadyAddresses"}},
    {Type::kText, "AnyOrder", "", {"startupPolicy.startupPolicyOrder"}},
    {Type::kAny, "", "", {"successPolicy"}},
    {Type::kAny, "", "", {"volumeClaimPolicies"}},
    // Of Kubeflow's operators
    {Type::kText, "Running", "", {"", "", "runPolicy.cleanPodPolicy", "runPolicy.cleanPodPolicy"}},
    {Type::kText, "AtStartup", "", {"", "", "launcherCreationPolicy"}},
    {Type::kText, "c10d", "c10d", {"", "", "", "elasticPolicy.rdzvBackend"}},
    {Type::kAny, "", "", {"", "", "", "elasticPolicy.rdzvConf"}},
    {Type::kText, "", "", {"", "", "", "elasticPolicy.rdzvHost"}},
    {Type::kText, "", "", {"", "", "", "elasticPolicy.rdzvId"}},
    {Type::kNumber, "", "", {"", "", "", "elasticPolicy.rdzvPort"}},
    {Type::kBoolean, "false", "false", {"", "", "", "elasticPolicy.standalone"}},
};
constexpr std::string_view kDeadline = "@template.spec.activeDeadlineSeconds";

struct Source {
  std::string_view kind;
  JobKind like;  // whose fields its spec has
  std::string_view spec;
};
constexpr Source kSources[] = {{"TrainingRuntime", JobKind::kJobSet, "spec.template.spec"},
                               {"ClusterTrainingRuntime", JobKind::kJobSet, "spec.template.spec"},
                               {"JobSet", JobKind::kJobSet, "spec"},
                               {"Job", JobKind::kJob, "spec"},
                               {"MPIJob", JobKind::kMpiJob, "spec"},
                               {"PyTorchJob", JobKind::kPytorchJob, "spec"},
                               {"TrainJob", JobKind::kTrainJob, "spec"}};

// Fields besides pods that the form holds, or that follow from what it holds.
constexpr std::string_view kHeld[] = {"numNodes",
                                      "numProcPerNode",
                                      "nProcPerNode",
                                      "minNodes",
                                      "maxNodes",
                                      "maxRestarts",
                                      "metrics",
                                      "mpiImplementation",
                                      "sshAuthMountPath",
                                      "runLauncherAsNode",
                                      "minMember",
                                      "minAvailable",
                                      "minResources",
                                      "priorityClass",
                                      "queue",
                                      "priorityClassName",
                                      "replicas",
                                      "parallelism",
                                      "completions",
                                      "backoffLimit",
                                      "replicatedJob",
                                      "restartPolicy",
                                      "minReplicas",
                                      "maxReplicas",
                                      "nprocPerNode",
                                      "slotsPerWorker",
                                      "runLauncherAsWorker",
                                      "scheduleTimeoutSeconds",
                                      "replicatedJobs.name",
                                      "trainer.args",
                                      "trainer.command",
                                      "trainer.env",
                                      "trainer.image",
                                      "trainer.resourcesPerNode"};

bool is_held(const std::string& path, const std::string& key) {
  const std::string parent = path.substr(path.rfind('.') + 1);
  const std::string both = parent.substr(0, parent.find('[')) + "." + key;
  return std::ranges::any_of(kHeld, [&](const auto held) { return held == key || held == both; });
}

// What of a manifest has no place: the paths of fields in which nothing is held.
struct Leftovers {
  std::vector<std::string> whole;  // these have one, whatever is in them
  std::vector<std::string> paths = {};

  // True: something in `value` is held.
  bool look_at(const json& value, const std::string& path);
};

bool Leftovers::look_at(const json& value, const std::string& path) {
  if (value.empty() || std::ranges::find(whole, path) != whole.end()) return true;
  const size_t before = paths.size();
  bool any = false;
  size_t index = 0;
  const json none = json::object();
  for (const auto& [key, item] : (value.is_structured() ? value : none).items()) {
    const std::string place = value.is_array() ? "[" + std::to_string(index++) + "]" : "." + key;
    any |= (value.is_object() && is_held(path, key)) || look_at(item, path + place);
  }
  if (any) return true;
  paths.resize(before);
  paths.push_back(path);
  return false;
}

// As Kubernetes wants it: without quotes, where it is a number.
Result<json> value_of(const Field& field, Type type) {
  const auto as_json = [](const auto& read) {
    return read ? Result<json>(**read) : Result<json>(Error(read.error()));
  };
  switch (type) {
    case Type::kNumber:
      return as_json(field.number(0, std::numeric_limits<int>::max()));
    case Type::kBoolean:
      return as_json(field.boolean());
    case Type::kText:
      return as_json(field.text());
    case Type::kAny:
      break;
  }
  return field.value();
}

// The replicatedJob that a field of "@" is in.
Field job_of(const Field& document, const Replica& replica) {
  const std::string pods = pod_path(replica);
  return document.at(pods.substr(0, pods.rfind(".template.spec.template")));
}

// A field that is there: carried, left, or nothing to tell of.
Status take(const Field& field, size_t row, const std::string& role, JobForm& form) {
  if (!field.is_there()) return {};
  auto value = value_of(field, kRows[row].type);
  if (!value) return std::move(value).error();
  const std::string text = value->is_structured() ? "" : field.text().value().value_or("");
  if (!text.empty() && text == kRows[row].usual) return {};
  if (kRows[row].only.empty() || text == kRows[row].only)
    form.carried.push_back({row, field.path(), role, *std::move(value)});
  else
    form.left.push_back(field.path());
  return {};
}

void put(json& spec, std::string_view place, const json& value) {
  json* at = &spec;
  for (const std::string_view part : split(place, '.')) at = &(*at)[std::string(part)];
  json made = value;
  if (value.is_array() && at->is_array())  // the first rule that holds counts
    std::ranges::copy_if(*at, std::back_inserter(made), [&value](const json& item) {
      return std::ranges::find(value, item) == value.end();
    });
  if (value.is_object() && at->is_object())
    at->update(made);
  else
    *at = std::move(made);
}

// False: a field before it has said something else there.
bool put_once(json& spec, std::string_view place, const json& value,
              std::map<std::string, json>& said, const std::string& where) {
  const auto [known, is_new] = said.emplace(where + std::string(place), value);
  if (is_new) put(spec, place, value);
  return known->second == value;
}

bool write(const CarriedField& field, std::string_view place, json& spec,
           std::map<std::string, json>& said) {
  if (place.empty()) return false;
  if (!place.starts_with('@')) return put_once(spec, place, field.value, said, "");
  bool is_written = true;
  for (json& job : spec["replicatedJobs"])
    if (field.role.empty() || job["name"] == field.role)
      is_written &= put_once(job, place.substr(1), field.value, said, job["name"]);
  // The whole job's time is over, and not that of one attempt.
  if (place == kDeadline && field.role.empty())
    spec["failurePolicy"]["rules"].push_back({{"name", "DeadlineExceeded"},
                                              {"action", "FailJobSet"},
                                              {"onJobFailureReasons", {"DeadlineExceeded"}}});
  return is_written;
}

}  // namespace

Status read_carried(const Field& document, const Workload& workload, JobForm& form) {
  const auto* const source =
      std::ranges::find(kSources, document["kind"].text()->value_or(""), &Source::kind);
  if (source == std::end(kSources)) return {};  // a workload is of one of them
  Leftovers left{{"spec.template.metadata", "spec.labels", "spec.annotations"}};
  for (const Replica& replica : workload.replicas) left.whole.push_back(pod_path(replica));
  for (size_t row = 0; row < std::size(kRows); ++row) {
    const std::string_view place = kRows[row].places[static_cast<size_t>(source->like)];
    if (place.empty()) continue;
    if (!place.starts_with('@')) {
      const Field field = document.at(source->spec).at(place);
      left.whole.push_back(field.path());
      MUSTER_RETURN_IF_ERROR(take(field, row, "", form));
      continue;
    }
    for (const Replica& replica : workload.replicas) {
      const Field field = job_of(document, replica).at(place.substr(1));
      left.whole.push_back(field.path());
      MUSTER_RETURN_IF_ERROR(take(field, row, replica.name, form));
    }
  }
  (void)left.look_at(document["spec"].value(), "spec");  // there are pods in it
  form.left.insert(form.left.end(), left.paths.begin(), left.paths.end());
  return {};
}

void write_carried(JobForm& form, JobKind kind, json& job) {
  std::map<std::string, json> said;
  for (const CarriedField& field : form.carried) {
    const std::string_view place = kRows[field.row].places[static_cast<size_t>(kind)];
    if (!write(field, place, job["spec"], said)) form.left.push_back(field.path);
  }
  if (form.left.empty()) return;
  std::ranges::sort(form.left);
  form.remarks.push_back("left out, for the " + job["kind"].get<std::string>() +
                         " has no place for it: " + join(form.left, ", "));
}

}  // namespace muster::launcher
