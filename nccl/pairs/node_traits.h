// NodeTraits: what a node tells the others of itself, so that it is seen which one is not like the
// rest: versions, and the settings of its libraries that must be the same on all nodes. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "base/result.h"
#include "nccl/plan/finding.h"
#include "nccl/plan/settings.h"

namespace muster::nccl {

struct NodeTraits {
  // Versions; "" = not known.
  std::string muster;
  std::string driver;  ///< of NVIDIA's GPUs, in the kernel
  std::string nccl;
  std::string libfabric;
  /// Of the settings that must agree, by name: a number made from the value, which stays here. What
  /// is not set is not in it.
  std::map<std::string, std::string> settings;
};

/// Of those that are set, or that the plan sets beside them.
[[nodiscard]] std::map<std::string, std::string> agreed_settings(
    const Settings& settings, const std::vector<PlannedVariable>& planned);

/// A JSON object, at most kMaxTraitsBytes.
inline constexpr size_t kMaxTraitsBytes = 16 * 1024;
[[nodiscard]] std::string encode(const NodeTraits& traits);
/// kProtocol: it is none that encode() has written; kLimit.
Result<NodeTraits> parse_traits(std::string_view text);

/// What is not the same on all nodes, and which node is not like most. `names`: of the nodes, as
/// many as `traits`. A version that a node does not know is not compared; a setting that it does
/// not have is. Ids: nccl_version, cuda_driver, env_conflict. Errors first.
[[nodiscard]] std::vector<Finding> judge_traits(const std::vector<NodeTraits>& traits,
                                                const std::vector<std::string>& names);

}  // namespace muster::nccl
