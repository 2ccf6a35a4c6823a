#include "launcher/contracts/jobset.h"

#include <map>
#include <string>
#include <utility>

#include "base/text.h"
#include "launcher/contracts/indexed_job.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kPrefix = "jobset.sigs.k8s.io/";
constexpr std::string_view kNodesVariables[] = {"MUSTER_NNODES", "PET_NNODES"};
constexpr std::string_view kOwnName = "own name";
constexpr const char* kWantsLabels =
    "; if they are of several replicatedJobs, mount their labels and annotations at /etc/podinfo "
    "as well";

using Labels = std::map<std::string, std::string, std::less<>>;

std::string label_of(const Labels& labels, std::string_view name) {
  const auto label = labels.find(std::string(kPrefix) + std::string(name));
  return label == labels.end() ? "" : label->second;
}

std::optional<int> number_in(const Labels& labels, std::string_view name) {
  return plain_number(label_of(labels, name));
}

struct Place {
  std::string set;
  std::string group;  // SET-RJOB
  int job = 0;
  int index = 0;
  std::string subdomain = {};  // and what follows it, where that is known
};

std::string pod_name(const Place& place, int job, int index) {
  return place.group + "-" + std::to_string(job) + "-" + std::to_string(index);
}

std::optional<Place> place_by_name(const PodFacts& pod, int index) {
  const std::string full = own_full_name(pod);
  const std::string_view label = first_label(full);
  const auto in_job = numbered_name(label);
  const auto in_set = in_job ? numbered_name(in_job->stem) : std::nullopt;
  if (!in_set || in_job->number != index || label.size() == full.size()) return std::nullopt;
  Place place{.set = "", .group = in_set->stem, .job = in_set->number, .index = index};
  place.subdomain = full.substr(label.size() + 1);
  place.set = std::string(first_label(place.subdomain));
  return place;
}

// Its labels or annotations are there, and none of them is a JobSet's.
bool is_of_another(const Labels& labels) {
  const auto first = labels.lower_bound(kPrefix);
  return !labels.empty() && (first == labels.end() || !first->first.starts_with(kPrefix));
}

std::optional<Place> find_place(const PodFacts& pod, const Labels& labels, int index) {
  auto named = place_by_name(pod, index);
  const std::string set = label_of(labels, "jobset-name");
  const std::string replicated = label_of(labels, "replicatedjob-name");
  const auto job = number_in(labels, "job-index");
  if (set.empty() || replicated.empty() || !job) {
    if (is_of_another(labels)) return std::nullopt;
    if (named && !named->group.starts_with(named->set + "-")) {
      if (pod.wanted == kAutoContract) return std::nullopt;
      named->set = named->group;  // with a subdomain of its own, where the set's name ends is open
    }
    return named;
  }
  Place place{.set = set, .group = set + "-" + replicated, .job = *job, .index = index};
  // On the host network the name is the machine's, and the subdomain most likely the usual one.
  const bool is_own = named && named->group == place.group && named->job == *job;
  place.subdomain = is_own ? named->subdomain : set;
  return place;
}

// Pods of each job, of whose replicatedJob there is no other; none: not to be told.
std::optional<int> pods_per_job(const PodFacts& pod, int jobs) {
  for (const std::string_view name : kNodesVariables) {
    const auto nodes = node_count_of(pod, name);
    if (nodes) return *nodes % jobs == 0 ? std::optional(*nodes / jobs) : std::nullopt;
  }
  return std::nullopt;
}

// Of one replicatedJob's pods; the coordinator comes before those that were before it.
std::optional<int> rank_of(const Place& own, const Place& first, const PodFacts& pod, int jobs) {
  if (own.group == first.group && own.job == first.job && own.index == first.index) return 0;
  const auto pods = jobs == 1 ? 0 : jobs == 0 ? std::nullopt : pods_per_job(pod, jobs);
  if (!pods) return std::nullopt;
  const auto place = [pods](const Place& at) { return int64_t{at.job} * *pods + at.index; };
  const int64_t rank = place(own) + (place(own) < place(first) ? 1 : 0);
  return rank < kMaxNodes ? std::optional(static_cast<int>(rank)) : std::nullopt;
}

// Of a pod of several replicatedJobs, whose sizes it does not know: the order of their jobs is that
// of the ranks, and there is room for as many pods in each as there may be.
std::optional<int> rank_in_all(const Place& own, const Place& first, const Labels& labels,
                               int jobs) {
  if (own.group == first.group && own.job == first.job && own.index == first.index) return 0;
  const auto job = number_in(labels, "job-global-index");
  const int room = jobs > 0 ? (kMaxNodes - 1) / jobs : 0;
  if (!job || *job >= jobs || own.index >= room) return std::nullopt;
  return 1 + *job * room + own.index;
}

// The coordinator's place, if its name is one of this set's.
std::optional<Place> place_of(const std::string& coordinator, const Place& own) {
  const auto in_job = numbered_name(first_label(coordinator));
  const auto in_set = in_job ? numbered_name(in_job->stem) : std::nullopt;
  if (!in_set || !in_set->stem.starts_with(own.set + "-")) return std::nullopt;
  return Place{own.set, in_set->stem, in_set->number, in_job->number, own.subdomain};
}

}  // namespace

std::optional<Contract> read_jobset(const PodFacts& pod) {
  const auto index = number_of(pod, kCompletionIndex);
  if (!in_kubernetes(pod) || !index) return std::nullopt;
  const Labels labels = pod_labels(pod);
  const auto own = find_place(pod, labels, *index);
  if (!own) return std::nullopt;
  Contract contract;
  contract.controller = "JobSet";
  contract.job = own->set;
  const bool is_labelled = !label_of(labels, "jobset-name").empty();
  lack(contract, flag::kNnodes, "a pod is not told how many pods the JobSet has",
       "--nnodes N or MUSTER_NNODES=N, where N is the number of pods that train" +
           std::string(is_labelled ? "" : kWantsLabels));

  const std::string coordinator = label_of(labels, "coordinator");
  const int all = number_in(labels, "global-replicas").value_or(0);
  const bool one_group = all > 0 && all == number_in(labels, "replicatedjob-replicas");
  Place first{own->set, own->group, 0, 0, own->subdomain};
  if (!coordinator.empty()) first = place_of(coordinator, *own).value_or(first);
  if (!coordinator.empty()) {
    say(contract, flag::kRdzvEndpoint, coordinator, "coordinator");
  } else if (all > 0 && !one_group) {
    lack(contract, flag::kRdzvEndpoint,
         "of several replicatedJobs none is the first without spec.coordinator");
  } else {
    say(contract, flag::kRdzvEndpoint, pod_name(first, 0, 0) + "." + own->subdomain, kOwnName);
  }

  const bool is_first_known = !coordinator.empty() || one_group;
  const auto rank = !is_first_known         ? std::nullopt
                    : one_group || all == 0 ? rank_of(*own, first, pod, all)
                                            : rank_in_all(*own, first, labels, all);
  const bool ranked_by_name = first_label(pod.host_name) == pod_name(*own, own->job, own->index);
  if (rank) {
    say(contract, flag::kNodeRank, std::to_string(*rank), "labels");
  } else if (!ranked_by_name) {
    lack(contract, flag::kNodeRank,
         "the host name '" + pod.host_name +
             "' does not order this pod, and how many pods a job has is not known");
  }
  return contract;
}

}  // namespace muster::launcher
