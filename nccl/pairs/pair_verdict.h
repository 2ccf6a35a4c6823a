// PairVerdict: from what pairs of nodes have measured to the node that is at fault. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nccl/plan/finding.h"

namespace muster::nccl {

/// What a pair has measured over a provider of libfabric. The figures are as in PairResult.
struct ProviderResult {
  std::string provider;      ///< "efa"
  std::string failure = {};  ///< "" = it worked; else why not
  double latency_us = 0;
  double bytes_per_second = 0;
};

/// What a pair has measured over TCP, over both directions.
struct PairResult {
  int low = 0;
  int high = 0;
  std::string failure;             ///< "" = it worked; else why not
  double latency_us = 0;           ///< half of a round trip of 8 bytes, the median
  double bytes_per_second = 0;     ///< of the slower direction
  std::optional<int> absent = {};  ///< the one of them that did not come: it is at fault
  std::optional<ProviderResult> over_provider = {};  ///< none = it was not measured
};

/// A pair is bad if it failed or has less than this part of the median of all.
inline constexpr double kSlowPart = 0.5;
/// A pair is late if its latency is this many times the median, and above kLateUs.
inline constexpr double kLateTimes = 3;
inline constexpr double kLateUs = 200;

/// A node that alone is at fault, and the finding that says so.
struct FaultyNode {
  int node = 0;
  std::string why;
};

struct PairVerdict {
  std::vector<Finding> findings;
  /// Who has failed or been slow over TCP with both of its partners, or did not come. The way over
  /// a provider leaves nobody out: a job may use another device than was measured. Of an odd number
  /// from five on two nodes have one partner, which is too little to leave them out.
  std::vector<FaultyNode> faulty;
};

/// `names`: of the nodes by number. A node that is in a good pair is cleared. A bad pair with one
/// node that is not cleared names that node, and explains that node's other pairs; with none it is
/// the link between the two; with both nobody can tell. Providers are judged in the same way, by
/// their own figures. Errors first. Ids: bw_pair, lat_pair, firewall.
[[nodiscard]] PairVerdict judge_pairs(const std::vector<PairResult>& pairs,
                                      const std::vector<std::string>& names);

/// "1.2 GB/s", "35 MB/s".
[[nodiscard]] std::string format_rate(double bytes_per_second);

}  // namespace muster::nccl
