// A batch/v1 Job, with an index for each pod.
#include <utility>

#include "launcher/render/companions.h"
#include "launcher/render/pod_parts.h"
#include "launcher/render/workload_parts.h"
#include "launcher/render/writers.h"

namespace muster::launcher {

namespace {

using nlohmann::json;

Status check(JobForm& form) {
  if (!form.launcher_has_ranks)
    return cannot_hold("job", "a launcher without ranks is a pod of its own", "mpijob or jobset");
  if (!merge_alike(form)) {
    return cannot_hold("job",
                       "pods '" + form.pods.front().role + "' and '" + form.pods.back().role +
                           "' differ, and those of a Job are alike",
                       "jobset or pytorchjob");
  }
  return {};
}

}  // namespace

Result<Documents> write_job(JobForm& form) {
  const int limit = backoff_limit(form);  // before pods that are alike become one
  MUSTER_RETURN_IF_ERROR(check(form));
  Documents documents = prepare_for_no_operator(form);
  PodForm& pods = form.pods.front();
  if (!form.runs && pods.pods > 1) {
    pods.pod["spec"]["subdomain"] = form.name;
    documents.push_back(headless_service(form));
    if (limit > 0 && limit < pods.pods)
      form.remarks.push_back("a Job counts each pod that fails: backoffLimit " +
                             std::to_string(limit) + " is used up by one failure of " +
                             std::to_string(pods.pods) + " pods; a JobSet counts attempts");
  }
  json job = workload_document(form, "batch/v1", "Job");
  job["spec"] = job_spec(pods, limit);
  if (form.runs) {
    job["spec"]["completions"] = form.runs->count;
    job["spec"]["parallelism"] = form.runs->parallelism;
  }
  if (form.ttl_seconds) job["spec"]["ttlSecondsAfterFinished"] = *form.ttl_seconds;
  documents.push_back(std::move(job));
  return documents;
}

}  // namespace muster::launcher
