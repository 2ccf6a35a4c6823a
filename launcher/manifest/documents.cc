#include "launcher/manifest/documents.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "launcher/manifest/field.h"
#include "launcher/manifest/kubeflow_jobs.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr size_t kMaxShownBytes = 80;
constexpr const char* kGroup = "trainer.kubeflow.org/";
constexpr const char* kStep = "trainer.kubeflow.org/trainjob-ancestor-step";

std::string text_of(const Field& field) { return field.text().value_or(std::nullopt).value_or(""); }

bool is_of_trainer(const json& document) {
  return text_of(Field(&document, "")["apiVersion"]).starts_with(kGroup);
}

// An object at that key, made if there is none. What is something else stays, and its reader tells.
json* inside(json* object, const char* key) {
  if (object == nullptr || !object->is_object()) return nullptr;
  json& value = (*object)[key];
  if (value.is_null()) value = json::object();
  return value.is_object() ? &value : nullptr;
}

json* inside(json* object, std::initializer_list<const char*> keys) {
  for (const char* const key : keys) object = inside(object, key);
  return object;
}

// The objects of the list at that key.
std::vector<json*> objects_in(json* object, const char* key) {
  std::vector<json*> objects;
  if (object == nullptr || !object->contains(key) || !(*object)[key].is_array()) return objects;
  for (json& item : (*object)[key])
    if (item.is_object()) objects.push_back(&item);
  return objects;
}

void set(json* object, const char* key, const Field& field) {
  if (object != nullptr && field.is_there()) (*object)[key] = field.value();
}

void set_sizes(json& runtime, const Field& trainer) {
  json* const policy = inside(&runtime, {"spec", "mlPolicy"});
  set(policy, "numNodes", trainer["numNodes"]);
  const bool is_mpi = policy != nullptr && policy->contains("mpi");
  if (trainer["numProcPerNode"].is_there())
    set(inside(policy, is_mpi ? "mpi" : "torch"), "numProcPerNode", trainer["numProcPerNode"]);
}

void set_container(json& container, const Field& trainer) {
  for (const char* const key : {"command", "args"}) set(&container, key, trainer[key]);
  if (!trainer["env"].is_there() || !trainer["env"].value().is_array()) return;
  json& variables = container["env"];
  if (!variables.is_array()) variables = json::array();
  for (const json& variable : trainer["env"].value()) variables.push_back(variable);
}

// `job`: a replicatedJob.
void set_job(json& job, const Field& trainer) {
  const std::string name = text_of(Field(&job, "")["name"]);
  const std::string step = text_of(Field(&job, "")["template"]["metadata"]["labels"][kStep]);
  json* const pod = inside(&job, {"template", "spec", "template", "spec"});
  for (json* const container : objects_in(pod, "containers")) {
    if (text_of(Field(container, "")["name"]) != "node") continue;
    if (step == "trainer") set_container(*container, trainer);
    if (step == "trainer" || name == "node")
      set(container, "resources", trainer["resourcesPerNode"]);
  }
}

}  // namespace

std::vector<const json*> flattened(std::span<const json> documents) {
  std::vector<const json*> all;
  for (const json& document : documents) {
    const auto items = Field(&document, "")["items"].items();
    const bool is_list = text_of(Field(&document, "")["kind"]) == "List" && items;
    if (!is_list) all.push_back(&document);
    for (const Field& item : is_list ? *items : std::vector<Field>()) all.push_back(&item.value());
  }
  return all;
}

std::string description_of(const json& document) {
  const Field field(&document, "");
  const std::string name = text_of(field["metadata"]["name"]);
  const std::string kind = text_of(field["kind"]);
  const std::string text =
      (kind.empty() ? "a document without a kind" : kind) + (name.empty() ? "" : " '" + name + "'");
  return std::string(clip_utf8(text, kMaxShownBytes));
}

bool refers_to(const json& document, const json& other) {
  const Field job(&document, "");
  const Field runtime(&other, "");
  const std::string kind = text_of(runtime["kind"]);
  return is_of_trainer(document) && is_of_trainer(other) && text_of(job["kind"]) == "TrainJob" &&
         (kind == "TrainingRuntime" || kind == "ClusterTrainingRuntime") &&
         text_of(job["spec"]["runtimeRef"]["name"]) == text_of(runtime["metadata"]["name"]);
}

Result<json> runtime_of_train_job(const json& job, const json& runtime) {
  const Field document(&job, "");
  const Field trainer = document["spec"]["trainer"];
  Workload own;
  MUSTER_RETURN_IF_ERROR(read_train_job(document, own));  // a wrong value has its own path
  json merged = runtime;
  set(inside(&merged, "metadata"), "name", document["metadata"]["name"]);
  set_sizes(merged, trainer);
  json* const set_of_jobs = inside(&merged, {"spec", "template", "spec"});
  for (json* const each : objects_in(set_of_jobs, "replicatedJobs")) set_job(*each, trainer);
  return merged;
}

}  // namespace muster::launcher
