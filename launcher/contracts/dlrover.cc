#include "launcher/contracts/dlrover.h"

#include <string>

namespace muster::launcher {

namespace {

constexpr std::string_view kJob = "ELASTIC_JOB_NAME";
constexpr std::string_view kType = "NODE_TYPE";
constexpr std::string_view kRank = "NODE_RANK";
constexpr std::string_view kNodes = "NODE_NUM";
// Each pod has a Service with an address of its own, which forwards this port and no other.
constexpr int kServicePort = 3333;

}  // namespace

std::optional<Contract> read_dlrover(const PodFacts& pod) {
  if (!pod.environment.has("DLROVER_MASTER_ADDR")) return std::nullopt;
  Contract contract;
  contract.controller = "DLRover";
  contract.job = text_of(pod, kJob);
  // The operator says it of jobs of the all-reduce strategy alone.
  if (!pod.environment.has("WORLD_SIZE")) {
    lack(contract, flag::kNnodes,
         "without WORLD_SIZE this is no job of AllreduceStrategy, and DLRover itself brings its "
         "pods together",
         kGiveNoContract);
    return contract;
  }
  const auto nodes = node_count_of(pod, kNodes);
  const auto rank = number_of(pod, kRank);
  if (nodes) say(contract, flag::kNnodes, std::to_string(*nodes), kNodes);
  if (!nodes) lack(contract, flag::kNnodes, std::string(kNodes) + " is no number of nodes");
  if (nodes && rank) say_rank(contract, *rank, *nodes, kRank);
  if (!rank) lack(contract, flag::kNodeRank, std::string(kRank) + " is no number");
  const std::string type = text_of(pod, kType);
  if (contract.job.empty() || type.empty()) {
    lack(contract, flag::kRdzvEndpoint,
         std::string(contract.job.empty() ? kJob : kType) + " is not set");
    return contract;
  }
  const std::string first = contract.job + "-edljob-" + type + "-0";
  say(contract, flag::kRdzvEndpoint, endpoint_of(first, kServicePort), kJob);
  return contract;
}

}  // namespace muster::launcher
