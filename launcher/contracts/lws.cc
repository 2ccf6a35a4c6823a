#include "launcher/contracts/lws.h"

#include "base/text.h"
#include "launcher/options/option_values.h"

namespace muster::launcher {

namespace {

constexpr std::string_view kLeader = "LWS_LEADER_ADDRESS";
constexpr std::string_view kSize = "LWS_GROUP_SIZE";
constexpr std::string_view kIndex = "LWS_WORKER_INDEX";

}  // namespace

std::optional<Contract> read_lws(const PodFacts& pod) {
  const std::string leader = text_of(pod, kLeader);
  const auto size = node_count_of(pod, kSize);
  const auto index = number_of(pod, kIndex);
  if (leader.empty() || !pod.environment.has(kSize) || !pod.environment.has(kIndex))
    return std::nullopt;
  Contract contract;
  contract.controller = "LWS";
  // SET-GROUP.SUBDOMAIN.NAMESPACE; each group is a job.
  contract.job = std::string(first_label(leader));
  if (size) say(contract, flag::kNnodes, std::to_string(*size), kSize);
  if (!size) lack(contract, flag::kNnodes, std::string(kSize) + " is no number of nodes");
  if (!index) lack(contract, flag::kNodeRank, std::string(kIndex) + " is no number");
  if (index) say_rank(contract, *index, size.value_or(kMaxNodes), kIndex);
  // The controller starts the whole group anew when its leader is lost: nobody else need lead.
  say(contract, flag::kRdzvEndpoint, leader, kLeader);
  return contract;
}

}  // namespace muster::launcher
