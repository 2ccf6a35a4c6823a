// What `-f FILE` stands for on a command line: flags that nobody gave, and the program.
#pragma once

#include <optional>

#include "base/files.h"
#include "base/result.h"
#include "launcher/contracts/contract.h"
#include "launcher/manifest/workload.h"
#include "launcher/options/flags.h"

namespace muster::launcher {

/// The workload of --file; none: the flag is not given. Errors name the file: kOs, kLimit, kUsage.
Result<std::optional<Workload>> manifest_of(const RawFlags& raw, const Files& files);

/// The node's container's command as the program of `raw`, unless there is one. Which node this is
/// --node-rank or the contract says; of an MPI job all nodes have the launcher's.
/// kUsage: the container has no command, so that only its image knows what runs.
Result<RawFlags> with_manifest_program(RawFlags raw, const Workload& workload,
                                       const std::optional<Contract>& contract);

/// Its flags, variables and folder; a folder that is not here is a warning. Call it when an inner
/// launcher's flags are there already.
RawFlags with_manifest_values(RawFlags raw, const Workload& workload,
                              const std::optional<Contract>& contract, const Files& files);

}  // namespace muster::launcher
