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

/// The command of the node's container (container_command.h). Which node this is --node-rank or the
/// contract says; of an MPI job all nodes have the launcher's. kUsage.
Result<RawFlags> container_command(const RawFlags& raw, const Workload& workload,
                                   const std::optional<Contract>& contract);

/// The program of `command` as that of `raw`, which has none. kUsage: the container has no command,
/// so that only its image knows what runs.
Result<RawFlags> with_container_program(RawFlags raw, const RawFlags& command,
                                        const Workload& workload,
                                        const std::optional<Contract>& contract);

/// What the launcher of `command` was told, then the manifest's fields, variables and folder, as
/// far as nobody says it who counts for more. What means something in a cluster only is left out
/// with a warning.
RawFlags with_manifest_values(RawFlags raw, const RawFlags& command, const Workload& workload,
                              const std::optional<Contract>& contract, const Files& files);

}  // namespace muster::launcher
