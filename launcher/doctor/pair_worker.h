// PairWorker: the worker of `muster doctor --peers`, one on each node of a job that does nothing
// else. It measures the way to two others, over the job store they tell each other what came out,
// and node rank 0 judges. Runs in a process of its own, which its agent ends if need be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/result.h"
#include "nccl/pairs/pair_verdict.h"

namespace muster::launcher {

/// What all nodes know in the end.
struct PeersReport {
  std::vector<std::string> nodes;  ///< names by node rank
  std::vector<nccl::PairResult> pairs;
  std::vector<nccl::Finding> findings;
  std::vector<nccl::FaultyNode> faulty = {};  ///< whom they name
};
/// Of doctor_json(), by which nodes tell each other. kProtocol: it is no such object.
Result<PeersReport> parse_peers_report(std::string_view json);
/// "3 nodes, 3 pairs: 1.2 GB/s and 35 us, the medians".
[[nodiscard]] std::string peers_title(const PeersReport& report);

/// In place of a file.
inline constexpr std::string_view kToStandardOutput = "-";
/// Added to the name of the report's file: what this node tells of itself
/// (nccl/pairs/node_traits.h)
inline constexpr std::string_view kOwnTraits = ".own";

/// Takes part, by the variables of a worker (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and
/// writes the report into `file`, beside which kOwnTraits is; without a file nodes are not
/// compared. What it has put into the store is gone then. kConfig: no such variables; kTimeout,
/// kPeer: the store; kOs.
Status run_pair_worker(const Environment& environment, const std::string& file);

}  // namespace muster::launcher
