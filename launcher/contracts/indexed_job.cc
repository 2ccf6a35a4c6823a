#include "launcher/contracts/indexed_job.h"

#include <string>

#include "base/text.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kJobLabel = "batch.kubernetes.io/job-name";

// Pod P of a Job called A-B-1 has the name that pod P of job 1 of a JobSet has, whose subdomain is
// not its own name.
bool may_be_of_jobset(const NumberedName& own) {
  const auto job = numbered_name(own.stem);
  return job && job->number < kMaxNodes && job->stem.find('-') != std::string::npos;
}

}  // namespace

std::optional<Contract> read_indexed_job(const PodFacts& pod) {
  const auto index = number_of(pod, kCompletionIndex);
  if (!in_kubernetes(pod) || !index) return std::nullopt;
  Contract contract;
  contract.controller = "Indexed Job";
  const std::string full = own_full_name(pod);
  const auto own = numbered_name(first_label(full));
  const bool is_named = own && own->number == *index;  // on the host network it is the machine's
  if (is_named) contract.job = own->stem;
  const auto labels = pod_labels(pod);
  if (const auto label = labels.find(kJobLabel); label != labels.end())
    contract.job = label->second;
  const bool has_service = is_named && first_label(full).size() < full.size();
  const bool is_clear = !labels.empty() || pod.wanted != kAutoContract;
  if (has_service && !is_clear && may_be_of_jobset(*own)) {
    lack(contract, flag::kRdzvEndpoint,
         "a JobSet may have a pod called '" + std::string(first_label(full)) + "' as well",
         "--contract indexed-job or --contract jobset");
    return contract;
  }
  lack(contract, flag::kNnodes, "a pod is not told how many completions the Job wants",
       "--nnodes N or MUSTER_NNODES=N, where N is spec.completions");
  say(contract, flag::kNodeRank, std::to_string(*index), kCompletionIndex);
  if (has_service) {
    say(contract, flag::kRdzvEndpoint, sibling_of(full, own->stem + "-0"), "own name");
  } else {
    lack(contract, flag::kRdzvEndpoint,
         is_named ? "pods without a headless Service as their subdomain cannot find each other"
                  : "the host name '" + pod.host_name + "' is not JOB-" + std::to_string(*index) +
                        ", so the first pod's is not known");
  }
  return contract;
}

}  // namespace muster::launcher
