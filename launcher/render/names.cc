#include "launcher/render/names.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/options/choice.h"
#include "launcher/render/render_values.h"
#include "launcher/render/workload_parts.h"

namespace muster::launcher {

namespace {

constexpr size_t kMaxLabel = 63;

Error told(const std::string& path, std::string_view value, const Error& error) {
  return wrong(path + ": '" + one_line(value) + "' " + error.text);
}

// `checked`: by the grammar that such a name has.
Status check_name_at(const Field& field, Result<std::string> (*checked)(std::string_view text)) {
  const auto name = field.text();
  if (!name) return Error(name.error());
  const auto right = *name ? checked(**name) : Result<std::string>("");
  return right ? Status() : told(field.path(), **name, right.error());
}

// Of the pods of a JobSet, or of the runtime that makes one.
Status check_job_names(const Field& document) {
  for (const char* const place : {"spec", "spec.template.spec"}) {
    const Field set = document.at(place);
    const auto jobs = set["replicatedJobs"].items();
    if (!jobs) return Error(jobs.error());
    std::set<nlohmann::json> names;
    for (const Field& job : *jobs) {
      MUSTER_RETURN_IF_ERROR(check_name_at(job["name"], as_workload_name));
      MUSTER_RETURN_IF_ERROR(check_labels(job["template"]["metadata"]));
      if (!names.insert(job["name"].value()).second)
        return job["name"].wrong("another name than that of a job before it");
    }
    const Field first = set["coordinator"]["replicatedJob"];
    if (first.is_there() && !names.contains(first.value()))
      return first.wrong("the name of a replicatedJob");
  }
  return {};
}

// Operators know one of them.
Status check_single_pods(const Field& document) {
  for (const char* const path :
       {"spec.mpiReplicaSpecs.Launcher.replicas", "spec.pytorchReplicaSpecs.Master.replicas"})
    if (const auto one = document.at(path).number(1, 1); !one) return Error(one.error());
  return {};
}

// Of an elastic job there may be more pods than there are at first.
std::string last_index(const JobForm& form, const PodForm& pods) {
  const size_t colon = form.nodes.find(':');
  const auto most = parse_integer(colon == std::string::npos ? "" : form.nodes.substr(colon + 1));
  const int count =
      std::max({pods.pods, static_cast<int>(most.value_or(1)), form.runs ? form.runs->count : 1});
  return "-" + std::to_string(count - 1);
}

// Behind the job's name, of the last of these pods.
std::string suffix_of(const JobForm& form, const PodForm& pods, JobKind kind) {
  std::string last = last_index(form, pods);
  const bool is_launcher = has_launcher(form) && &pods == &form.pods.front();
  switch (kind) {
    case JobKind::kJobSet:
      return "-" + pods.role + "-0" + last;
    case JobKind::kJob:
      return last;
    case JobKind::kMpiJob:
    case JobKind::kPytorchJob:
      return "-worker" + last;  // as long as -launcher and -master-0
    case JobKind::kTrainJob:
      return is_launcher ? "-launcher-0-0" : "-node-0" + last;
  }
  return "";
}

// A key's domain may be written in any case, but only in annotations.
Status check_map(const Field& map, bool are_labels) {
  if (!map.is_there()) return {};
  if (!map.value().is_object()) return map.wrong("a map");
  for (const auto& [key, value] : map.value().items()) {
    const auto checked = as_label_key(are_labels ? key : to_lower(key));
    if (!checked) return told(map.path(), key, checked.error());
    const auto text = map[key].text();
    if (!text) return Error(text.error());
    const auto right = as_label_value(are_labels ? text->value_or("") : "");
    if (!right) return told(map.path() + "." + key, **text, right.error());
  }
  return {};
}

}  // namespace

Status check_labels(const Field& metadata) {
  MUSTER_RETURN_IF_ERROR(check_map(metadata["labels"], true));
  return check_map(metadata["annotations"], false);
}

Status check_names(const Field& document) {
  MUSTER_RETURN_IF_ERROR(check_name_at(document["metadata"]["namespace"], as_dns_label));
  MUSTER_RETURN_IF_ERROR(check_job_names(document));
  return check_single_pods(document);
}

Status check_name(const JobForm& form, JobKind kind) {
  if (const auto name = as_workload_name(form.name); !name)
    return told(form.name_place, form.name, name.error());
  for (const PodForm& pods : form.pods) {
    const std::string suffix = suffix_of(form, pods, kind);
    if (form.name.size() + suffix.size() > kMaxLabel)
      return wrong(form.name_place + ": '" + form.name + "' must have at most " +
                   std::to_string(kMaxLabel - std::min(suffix.size(), kMaxLabel)) +
                   " letters: a pod is called NAME" + suffix + ", and " +
                   std::to_string(kMaxLabel) + " is the limit");
  }
  return {};
}

}  // namespace muster::launcher
