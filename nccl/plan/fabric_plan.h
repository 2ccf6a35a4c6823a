// FabricPlan: which variables the network libraries of a job need on this node, each with its
// reason, and what the user should know. Everything it decides from was read before; the same facts
// give the same plan. docs/fabric.md tells the rules for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/environment_plan.h"
#include "nccl/machine/machine.h"
#include "nccl/plan/finding.h"
#include "nccl/plan/hca_choice.h"
#include "nccl/plan/interface_choice.h"
#include "nccl/plan/settings.h"
#include "nccl/plan/site_profile.h"
#include "nccl/plan/vendor_files.h"

namespace muster::nccl {

/// All that a plan is made from.
struct FabricFacts {
  Machine machine;
  Settings settings;
  VendorFiles vendor;
  SiteProfile profile;
};
/// Reads all of it; without accelerators and RDMA devices, and with kNeeded, little.
[[nodiscard]] FabricFacts read_fabric_facts(const MachineView& view, const Environment& environment,
                                            SiteProfile profile);

/// What the job is.
struct FabricJob {
  bool has_many_nodes = false;
  bool has_round = false;  ///< the nodes have met, so `reached` is the last word
  /// The interface by which other nodes reach this one. "" = there is no round yet; or, in a round,
  /// no name stands for it: it has other addresses before that one, or is loopback.
  std::string reached = {};
  /// Plans the network between GPUs for several nodes, also if nobody has said how many there are.
  bool plans_fabric = false;
};

/// Over what the GPUs of several nodes talk.
enum class FabricKind {
  kNone,     ///< there is no GPU
  kSockets,  ///< TCP
  kInfiniBand,
  kRoce,
  kEfa,
  kGib,      ///< Google's plugin for RoCE
  kFastrak,  ///< Google's plugin of A3 Mega
  kTcpx,     ///< Google's plugin of A3 High
  kSlingshot,
};
/// "InfiniBand", "RoCE", "TCP".
[[nodiscard]] std::string_view to_string(FabricKind kind);

struct FabricPlan {
  FabricKind kind = FabricKind::kNone;
  std::string title;  ///< "Amazon EC2 p5.48xlarge, 8 NVIDIA GPUs, EFA"
  ControlInterface control;
  /// Names; a plan outlives the machine it was made of.
  std::vector<std::string> devices;    ///< RDMA devices that the job should use
  std::vector<DroppedDevice> dropped;  ///< and those that it should not, or cannot
  std::vector<PlannedVariable> variables;
  /// Variables that a configuration file sets already: they stay out of the environment, which
  /// would beat the file.
  std::vector<VariableDecision> kept;
  std::vector<Finding> findings;
};

/// Pure.
[[nodiscard]] FabricPlan plan_fabric(const FabricFacts& facts, const FabricJob& job);

/// One line for the log: "Amazon EC2 p5.48xlarge, 8 NVIDIA GPUs, EFA; control interface eth0; 3
/// variables".
[[nodiscard]] std::string summary(const FabricPlan& plan);

}  // namespace muster::nccl
