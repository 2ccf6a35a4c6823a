#include "launcher/contracts/lws.h"

#include "base/text.h"

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
  if (leader.empty() || !pod.environment.has(kSize) || !index) return std::nullopt;
  Contract contract;
  contract.controller = "LWS";
  // SET-GROUP.SUBDOMAIN.NAMESPACE; each group is a job.
  contract.job = std::string(first_label(leader));
  if (size) {
    say(contract, flag::kNnodes, std::to_string(*size), kSize);
    say_rank(contract, *index, *size, kIndex);
  } else {
    lack(contract, flag::kNnodes, std::string(kSize) + " is no number of nodes");
    say(contract, flag::kNodeRank, std::to_string(*index), kIndex);
  }
  // The controller starts the whole group anew when its leader is lost: nobody else need lead.
  say(contract, flag::kRdzvEndpoint, leader, kLeader);
  return contract;
}

}  // namespace muster::launcher
