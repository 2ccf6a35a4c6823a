// A batch/v1 Job, with an index for each pod.
#include <utility>

#include "launcher/render/pod_parts.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

constexpr int kBackoffLimit = 6;

// Pods find each other by its name, before they are ready.
json headless_service(const JobForm& form) {
  json service = document(form, "v1", "Service", form.name);
  service["spec"] = {{"clusterIP", "None"},
                     {"publishNotReadyAddresses", true},
                     {"selector", {{kInstanceLabel, form.name}}}};
  return service;
}

}  // namespace

Result<Documents> write_job(JobForm form) {
  PodForm& pods = form.pods.front();
  pods.pod["spec"]["restartPolicy"] = "Never";
  pods.pod["spec"]["subdomain"] = form.name;
  set_variable(container_of(pods.pod), "MUSTER_NNODES", form.nodes);
  json job = workload_document(form, "batch/v1", "Job");
  job["spec"] = {{"completionMode", "Indexed"},
                 {"completions", pods.pods},
                 {"parallelism", pods.pods},
                 {"backoffLimit", form.backoff_limit.value_or(kBackoffLimit)},
                 {"template", std::move(pods.pod)}};
  Documents documents = std::move(form.beside);
  documents.push_back(headless_service(form));
  documents.push_back(std::move(job));
  return documents;
}

}  // namespace muster::launcher
