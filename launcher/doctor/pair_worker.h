// PairWorker: the worker of `muster doctor --peers`, one on each node of a job that does nothing
// else. It measures the way to two others, over the job store they tell each other what came out,
// and node rank 0 judges. Runs in a process of its own, which its agent ends if need be.
#pragma once

#include <string>
#include <string_view>

#include "base/environment.h"
#include "base/files.h"
#include "base/process/init.h"
#include "base/result.h"

namespace muster::launcher {

/// In place of a file.
inline constexpr std::string_view kToStandardOutput = "-";
/// Added to the name of the report's file: what this node tells of itself
/// (nccl/pairs/node_traits.h)
inline constexpr std::string_view kOwnTraits = ".own";

/// What a worker is started with; all borrowed but the texts.
struct PairWorkerCall {
  const Environment& environment;
  Files& files;
  const ProcessSetup& setup;
  std::string file;      ///< for the report, or kToStandardOutput
  std::string provider;  ///< --provider; "" = the one of a fabric that all nodes have, if any
};

/// Takes part, by the variables of a worker (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and
/// writes the report into the file, beside which kOwnTraits is; without a file nodes are not
/// compared. The provider of node rank 0 counts. What it has put into the store is gone then.
/// kConfig: no such variables; kTimeout, kPeer: the store; kOs.
Status run_pair_worker(const PairWorkerCall& call);

}  // namespace muster::launcher
