// A JobSet: one replicatedJob for each kind of pods. Source: JobSet 0.12, api/jobset/v1alpha2.
#include <utility>

#include "launcher/render/companions.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/workload_parts.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

using nlohmann::json;

Result<Documents> write_jobset(JobForm& form) {
  if (form.runs)
    return cannot_hold("jobset", "--runs are independent, and pods of a JobSet are one job", "job");
  Documents documents = prepare_for_no_operator(form);
  const std::string first = form.pods.front().role;
  json set = workload_document(form, "jobset.x-k8s.io/v1alpha2", "JobSet");
  set["spec"] = jobset_spec(form);
  set["spec"]["coordinator"] = {{"replicatedJob", first}, {"jobIndex", 0}, {"podIndex", 0}};
  if (form.ttl_seconds) set["spec"]["ttlSecondsAfterFinished"] = *form.ttl_seconds;
  documents.push_back(std::move(set));
  return documents;
}

}  // namespace muster::launcher
