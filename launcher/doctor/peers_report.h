// PeersReport: what comes out when nodes have measured the ways between them, as they tell each
// other, and in one line for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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
/// "3 nodes, 3 pairs: 1.2 GB/s and 35 us, the medians", and "; over efa 12.0 GB/s and 16 us".
[[nodiscard]] std::string peers_title(const PeersReport& report);

}  // namespace muster::launcher
