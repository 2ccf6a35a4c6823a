#include "launcher/render/dress.h"

#include "launcher/render/pod_parts.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

void add_labels(json& pod, const JobForm& form) {
  json& labels = pod["metadata"]["labels"];
  if (labels.is_null()) labels = json::object();
  for (const auto& [key, value] : form.labels.items()) labels.emplace(key, value);
  labels.emplace(kInstanceLabel, form.name);
}

}  // namespace

void dress_pods(JobForm& form) {
  for (PodForm& pods : form.pods) {
    add_labels(pods.pod, form);
    pods.pod["spec"].emplace("automountServiceAccountToken", false);
    add_volume(pods.pod, "tmp", {{"emptyDir", json::object()}}, "/tmp");
  }
}

}  // namespace muster::launcher
