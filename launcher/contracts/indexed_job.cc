#include "launcher/contracts/indexed_job.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "base/text.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kJobLabel = "batch.kubernetes.io/job-name";

// Variables by which a user says where the nodes meet.
constexpr std::string_view kMeeting[] = {"MUSTER_RDZV_ENDPOINT", "PET_RDZV_ENDPOINT",
                                         "PET_MASTER_ADDR"};

// Pod P of a Job called A-B-1 has the name that pod P of job 1 of a JobSet has, whose subdomain is
// not its own name. A Service that is called as the Job is no JobSet's, and a user who names the
// Job's first pod knows.
bool may_be_of_jobset(const PodFacts& pod, const NumberedName& own, std::string_view subdomain) {
  const auto job = numbered_name(own.stem);
  const bool fits = job && job->number < kMaxNodes && job->stem.find('-') != std::string::npos;
  const bool is_named = std::ranges::any_of(kMeeting, [&](std::string_view name) {
    return first_label(split_host_port(text_of(pod, name)).host) == own.stem + "-0";
  });
  return fits && !is_named && first_label(subdomain) != own.stem;
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
  const std::string_view label = first_label(full);
  const bool has_service = is_named && label.size() < full.size();
  const bool is_open = has_service && labels.empty() && pod.wanted == kAutoContract &&
                       may_be_of_jobset(pod, *own, std::string_view(full).substr(label.size() + 1));
  if (is_open)
    lack(contract, flag::kRdzvEndpoint,
         "a JobSet may have a pod called '" + std::string(label) + "' as well",
         "--contract indexed-job or --contract jobset");
  lack(contract, flag::kNnodes, "a pod is not told how many completions the Job wants",
       "--nnodes N or MUSTER_NNODES=N, where N is spec.completions");
  say(contract, flag::kNodeRank, std::to_string(*index), kCompletionIndex);
  if (is_open) return contract;
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
